package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/cmd/onefold/internal/remote"
)

func newOps(a *app) *cobra.Command {
	c := &cobra.Command{Use: "ops", Short: "See operations and decide about them"}
	c.AddCommand(
		newOpsList(a), newOpsShow(a), newOpsTimeline(a), newOpsAttempts(a), newOpsEvidence(a), newOpsRequest(a), newOpsExplain(a),
		newOpsCancel(a), newOpsRetry(a), newOpsResolve(a), newOpsRelease(a), newOpsAssign(a),
	)
	for _, sub := range c.Commands() {
		a.addServer(sub)
	}
	group(c)
	return c
}

// addPaging gives a list its flags.
func addPaging(f *pflag.FlagSet, query url.Values) {
	f.Var(queryFlag{query, "limit", "N", nil}, "limit", "how many, 1 to 200 (default 50)")
	f.Var(queryFlag{query, "cursor", "CURSOR", nil}, "cursor", "where the previous page ended")
}

// queryFlag is a flag that goes into a query as it is; the server judges it.
type queryFlag struct {
	query url.Values
	name  string
	kind  string
	words []string // where it is one of these
}

// String returns what is set.
func (q queryFlag) String() string { return q.query.Get(q.name) }

// Set keeps the value.
func (q queryFlag) Set(value string) error {
	if q.words != nil && !slices.Contains(q.words, value) {
		return fmt.Errorf("it is one of %s", strings.Join(q.words, ", "))
	}
	if value == "" {
		return fmt.Errorf("it must not be empty")
	}
	q.query.Set(q.name, value)
	return nil
}

// Type names the flag's values in help texts.
func (q queryFlag) Type() string { return q.kind }

func stateNames() []string {
	var names []string
	for _, s := range onefold.States() {
		names = append(names, string(s))
	}
	return names
}

func newOpsList(a *app) *cobra.Command {
	query := url.Values{}
	c := &cobra.Command{
		Use: "list", Short: "List operations, newest first", Args: wants(),
		RunE: func(c *cobra.Command, _ []string) error {
			r, err := a.remote()
			if err != nil {
				return err
			}
			rep, err := r.Get(c.Context(), "/v1/operations", query)
			if err != nil {
				return err
			}
			return show(a, rep, operationTable)
		},
	}
	f := c.Flags()
	filter := func(flag, kind, text string, words []string) {
		f.Var(queryFlag{query, strings.ReplaceAll(flag, "-", "_"), kind, words}, flag, text)
	}
	filter("state", "STATE", strings.Join(stateNames(), ", "), stateNames())
	filter("capability", "NAME", "of this capability", nil)
	filter("connection", "NAME", "over this connection", nil)
	filter("key", "KEY", "with this caller key", nil)
	filter("reference", "TEXT", "with this reference, ours or the target's", nil)
	filter("identity", "TEXT", "with this request identity", nil)
	filter("review", "ID", "with this review", nil)
	filter("contradicted", "BOOL", "with conflicting answers: true or false", []string{"true", "false"})
	filter("created-from", "TIME", "admitted at or after (RFC 3339)", nil)
	filter("created-to", "TIME", "admitted before (RFC 3339)", nil)
	addPaging(f, query)
	return c
}

// opsRead is a command that reads one part of an operation.
func opsRead[T any](a *app, use, short string, part []string, query url.Values, text func(w io.Writer, v T)) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: wants("ID"),
		RunE: func(c *cobra.Command, args []string) error {
			r, err := a.remote()
			if err != nil {
				return err
			}
			rep, err := r.Get(c.Context(), remote.OperationPath(args[0], part...), query)
			if err != nil {
				return err
			}
			return show(a, rep, text)
		},
	}
}

func newOpsShow(a *app) *cobra.Command {
	return opsRead(a, "show ID", "Show an operation", nil, nil, a.operationText)
}

// entry is one line of a timeline.
type entry struct {
	At     time.Time `json:"at"`
	Actor  actor     `json:"actor"`
	Event  string    `json:"event"`
	From   *string   `json:"from"`
	To     *string   `json:"to"`
	Detail string    `json:"detail"`
	Reason string    `json:"reason"`
}

type actor struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
}

func newOpsTimeline(a *app) *cobra.Command {
	query := url.Values{"limit": {"200"}}
	c := opsRead(a, "timeline ID", "Show what happened to an operation, oldest first", []string{"timeline"}, query, func(w io.Writer, p page[entry]) {
		rows := make([][]string, 0, len(p.Items))
		for _, e := range p.Items {
			step := deref(e.To)
			if from := deref(e.From); from != "" && from != step {
				step = from + " → " + step
			}
			detail := plain(e.Detail)
			if e.Reason != "" {
				detail = strings.TrimSpace(detail + " — " + plain(e.Reason))
			}
			rows = append(rows, []string{e.At.UTC().Format("15:04:05.000"), e.Event, step, plain(e.Actor.Name), detail})
		}
		table(w, []string{"TIME", "EVENT", "STATE", "WHO", "WHAT"}, rows)
		more(w, p.NextCursor)
	})
	addPaging(c.Flags(), query)
	return c
}

// attempt is one try.
type attempt struct {
	ID       string     `json:"id"`
	Number   int        `json:"number"`
	Kind     string     `json:"kind"`
	Worker   string     `json:"worker"`
	BegunAt  time.Time  `json:"begun_at"`
	EndedAt  *time.Time `json:"ended_at"`
	Open     bool       `json:"open"`
	Verdict  *string    `json:"verdict"`
	ProvenBy *string    `json:"proven_by"`
}

func newOpsAttempts(a *app) *cobra.Command {
	query := url.Values{"limit": {"200"}}
	c := opsRead(a, "attempts ID", "Show the attempts of an operation", []string{"attempts"}, query, func(w io.Writer, p page[attempt]) {
		rows := make([][]string, 0, len(p.Items))
		for _, t := range p.Items {
			verdict := deref(t.Verdict)
			switch {
			case t.Open:
				verdict = "open: its worker went silent"
			case verdict == "":
				verdict = "out"
			case t.ProvenBy != nil:
				verdict += ", proven without effect by " + *t.ProvenBy
			}
			rows = append(rows, []string{strconv.Itoa(t.Number), t.Kind, when(t.BegunAt), whenOpt(t.EndedAt), verdict, plain(t.Worker)})
		}
		tableOr(w, "nothing was sent yet", []string{"NO", "KIND", "BEGUN", "ENDED", "VERDICT", "WORKER"}, rows)
	})
	addPaging(c.Flags(), query)
	return c
}

// evidence is one observed fact.
type evidence struct {
	ID        string    `json:"id"`
	Kind      string    `json:"kind"`
	Asserts   string    `json:"asserts"`
	Reference *string   `json:"reference"`
	Detail    string    `json:"detail"`
	SeenAt    time.Time `json:"seen_at"`
}

func newOpsEvidence(a *app) *cobra.Command {
	query := url.Values{"limit": {"200"}}
	c := opsRead(a, "evidence ID", "Show what was observed of an operation's effect", []string{"evidence"}, query, func(w io.Writer, p page[evidence]) {
		rows := make([][]string, 0, len(p.Items))
		for _, e := range p.Items {
			rows = append(rows, []string{e.SeenAt.UTC().Format("15:04:05.000"), e.Kind, e.Asserts, plain(deref(e.Reference)), plain(e.Detail)})
		}
		tableOr(w, "nothing was observed yet", []string{"SEEN", "KIND", "ASSERTS", "REFERENCE", "DETAIL"}, rows)
		more(w, p.NextCursor)
	})
	addPaging(c.Flags(), query)
	return c
}

func newOpsRequest(a *app) *cobra.Command {
	type parts struct {
		Request  json.RawMessage `json:"request"`
		Outgoing *outgoing       `json:"outgoing"`
	}
	c := opsRead(a, "request ID", "Show what was submitted and what goes to the target", []string{"request"}, nil, func(w io.Writer, p parts) {
		fmt.Fprintf(w, "submitted\n%s\n\nto the target\n", p.Request)
		outgoingText(w, p.Outgoing)
	})
	return c
}

// outgoingText shows a frozen request.
func outgoingText(w io.Writer, o *outgoing) {
	if o == nil {
		fmt.Fprintln(w, "not built yet: it is, when it is first sent")
		return
	}
	fmt.Fprintf(w, "%s %s\n", o.Method, o.Path)
	for _, h := range o.Headers {
		fmt.Fprintf(w, "%s: %s\n", plain(h["name"]), plain(h["value"]))
	}
	if o.Body != nil {
		fmt.Fprintf(w, "\n%s\n", *o.Body)
	}
}

func newOpsExplain(a *app) *cobra.Command {
	type explanation struct {
		Text string `json:"text"`
	}
	return opsRead(a, "explain ID", "Say in plain language what is the matter with an operation", []string{"explain"}, nil, func(w io.Writer, e explanation) {
		fmt.Fprintln(w, e.Text)
	})
}
