package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/client"
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
func addPaging(f *pflag.FlagSet, p *client.PageOf, size int) {
	p.Limit = size
	addRanged(f, numberFlag[int]{&p.Limit, 1, partSize}, "limit", "how many, `N`")
	f.StringVar(&p.Cursor, "cursor", "", "the `CURSOR` where the previous page ended")
}

// The sizes of pages: lists as the server has them, parts of one operation as
// many as it gives at once, which is the most of any page.
const (
	listSize = 50
	partSize = 200
)

// wordFlag is a flag that takes one of several words.
type wordFlag struct {
	value *string
	kind  string
	words []string
}

// String returns what is set.
func (q wordFlag) String() string {
	if q.value == nil {
		return ""
	}
	return *q.value
}

// Set takes one of the words.
func (q wordFlag) Set(value string) error {
	if !slices.Contains(q.words, value) {
		return fmt.Errorf("it is one of %s", strings.Join(q.words, ", "))
	}
	*q.value = value
	return nil
}

// Type names the flag's values in help texts.
func (q wordFlag) Type() string { return q.kind }

func stateNames() []string {
	var names []string
	for _, s := range onefold.States() {
		names = append(names, string(s))
	}
	return names
}

// listOrder is what ops list was asked for.
type listOrder struct {
	filter                           client.Filter
	state, contradicted, created, to string
}

func newOpsList(a *app) *cobra.Command {
	var o listOrder
	c := &cobra.Command{
		Use: "list", Short: "List operations, newest first", Args: wants(),
		RunE: func(c *cobra.Command, _ []string) error { return a.listOperations(c.Context(), &o) },
	}
	f := c.Flags()
	f.Var(wordFlag{&o.state, "STATE", stateNames()}, "state", strings.Join(stateNames(), ", "))
	f.StringVar(&o.filter.Capability, "capability", "", "of the capability `NAME`")
	f.StringVar(&o.filter.Connection, "connection", "", "over the connection `NAME`")
	f.StringVar(&o.filter.Key, "key", "", "with the caller key `KEY`")
	f.StringVar(&o.filter.Reference, "reference", "", "with the reference `TEXT`, ours or the target's")
	f.StringVar(&o.filter.Identity, "identity", "", "with the request identity `TEXT`")
	f.StringVar(&o.filter.Review, "review", "", "with the review `ID`")
	f.Var(wordFlag{&o.contradicted, "BOOL", []string{"true", "false"}}, "contradicted", "with conflicting answers: true or false")
	f.StringVar(&o.created, "created-from", "", "admitted at `TIME` or after (RFC 3339)")
	f.StringVar(&o.to, "created-to", "", "admitted before `TIME` (RFC 3339)")
	addPaging(f, &o.filter.PageOf, listSize)
	return c
}

func (a *app) listOperations(ctx context.Context, o *listOrder) (err error) {
	o.filter.State = onefold.State(o.state)
	if o.contradicted != "" {
		yes := o.contradicted == "true"
		o.filter.Contradicted = &yes
	}
	if o.filter.CreatedFrom, err = instant("created-from", o.created); err != nil {
		return err
	}
	if o.filter.CreatedTo, err = instant("created-to", o.to); err != nil {
		return err
	}
	api, err := a.client()
	if err != nil {
		return err
	}
	defer api.Close()
	p, err := api.Operations(ctx, o.filter)
	if err != nil {
		return err
	}
	return a.show(p.Raw, func(w io.Writer) { operationTable(w, &p) })
}

// opsRead is a command that reads something of one operation.
func opsRead[T any](a *app, use, short string, read func(ctx context.Context, api *client.Client, id string) (T, error),
	raw func(*T) json.RawMessage, text func(w io.Writer, v *T),
) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: wants("ID"),
		RunE: func(c *cobra.Command, args []string) error {
			api, err := a.client()
			if err != nil {
				return err
			}
			defer api.Close()
			v, err := read(c.Context(), api, args[0])
			if err != nil {
				return err
			}
			return a.show(raw(&v), func(w io.Writer) { text(w, &v) })
		},
	}
}

func newOpsShow(a *app) *cobra.Command {
	return opsRead(a, "show ID", "Show an operation", func(ctx context.Context, api *client.Client, id string) (client.Operation, error) {
		return api.Operation(ctx, id, 0, 0)
	}, func(o *client.Operation) json.RawMessage { return o.Raw }, a.operationText)
}

// opsPart is a command that reads a list that belongs to one operation.
func opsPart[T any](a *app, use, short string,
	read func(api *client.Client, ctx context.Context, id string, p client.PageOf) (client.Page[T], error), text func(w io.Writer, items []T),
) *cobra.Command {
	var of client.PageOf
	c := opsRead(a, use, short, func(ctx context.Context, api *client.Client, id string) (client.Page[T], error) {
		return read(api, ctx, id, of)
	}, func(p *client.Page[T]) json.RawMessage { return p.Raw }, func(w io.Writer, p *client.Page[T]) {
		text(w, p.Items)
		more(w, p.NextCursor)
	})
	addPaging(c.Flags(), &of, partSize)
	return c
}

func newOpsTimeline(a *app) *cobra.Command {
	return opsPart(a, "timeline ID", "Show what happened to an operation, oldest first", (*client.Client).Timeline, func(w io.Writer, items []client.Entry) {
		rows := make([][]string, 0, len(items))
		for i := range items {
			e := &items[i]
			rows = append(rows, []string{e.At.UTC().Format("15:04:05.000"), string(e.Event), stepWords(e), plain(e.Actor.Name), detailWords(e)})
		}
		table(w, []string{"TIME", "EVENT", "STATE", "WHO", "WHAT"}, rows)
	})
}

// stepWords are a line's states: the one that stays, or from and to.
func stepWords(e *client.Entry) string {
	var from, to onefold.State
	if e.From != nil {
		from = *e.From
	}
	if e.To != nil {
		to = *e.To
	}
	if from == "" || from == to {
		return string(to)
	}
	return string(from) + " → " + string(to)
}

func detailWords(e *client.Entry) string {
	if e.Reason == "" {
		return plain(e.Detail)
	}
	return strings.TrimPrefix(plain(e.Detail)+" — "+named(e.Reason), " — ")
}

func newOpsAttempts(a *app) *cobra.Command {
	return opsPart(a, "attempts ID", "Show the attempts of an operation", (*client.Client).Attempts, func(w io.Writer, items []client.Attempt) {
		rows := make([][]string, 0, len(items))
		for i := range items {
			t := &items[i]
			rows = append(rows, []string{strconv.Itoa(t.Number), string(t.Kind), when(t.BegunAt), whenOpt(t.EndedAt), verdictWords(t), plain(t.Worker)})
		}
		tableOr(w, "nothing was sent yet", []string{"NO", "KIND", "BEGUN", "ENDED", "VERDICT", "WORKER"}, rows)
	})
}

func verdictWords(t *client.Attempt) string {
	switch {
	case t.Open:
		return "open: its worker went silent"
	case t.Verdict == nil:
		return "out"
	case t.ProvenBy != nil:
		return string(*t.Verdict) + ", proven without effect by " + string(*t.ProvenBy)
	}
	return string(*t.Verdict)
}

func newOpsEvidence(a *app) *cobra.Command {
	return opsPart(a, "evidence ID", "Show what was observed of an operation's effect", (*client.Client).Evidence, func(w io.Writer, items []client.Evidence) {
		rows := make([][]string, 0, len(items))
		for i := range items {
			e := &items[i]
			rows = append(rows, []string{e.SeenAt.UTC().Format("15:04:05.000"), string(e.Kind), string(e.Asserts), plain(deref(e.Reference)), plain(e.Detail)})
		}
		tableOr(w, "nothing was observed yet", []string{"SEEN", "KIND", "ASSERTS", "REFERENCE", "DETAIL"}, rows)
	})
}

func newOpsRequest(a *app) *cobra.Command {
	return opsRead(a, "request ID", "Show what was submitted and what goes to the target", func(ctx context.Context, api *client.Client, id string) (client.Request, error) {
		return api.Request(ctx, id)
	}, func(r *client.Request) json.RawMessage { return r.Raw }, func(w io.Writer, r *client.Request) {
		fmt.Fprintf(w, "submitted\n%s\n\nto the target\n", plainLines(string(r.Request)))
		outgoingText(w, r.Outgoing)
	})
}

// outgoingText shows a frozen request.
func outgoingText(w io.Writer, o *client.Outgoing) {
	if o == nil {
		fmt.Fprintln(w, "not built yet: it is, when it is first sent")
		return
	}
	fmt.Fprintf(w, "%s %s\n", o.Method, plain(o.Path))
	for _, h := range o.Headers {
		fmt.Fprintf(w, "%s: %s\n", plain(h.Name), plain(h.Value))
	}
	if o.Body != nil {
		fmt.Fprintf(w, "\n%s\n", plainLines(*o.Body))
	}
}

func newOpsExplain(a *app) *cobra.Command {
	return opsRead(a, "explain ID", "Say in plain language what is the matter with an operation", func(ctx context.Context, api *client.Client, id string) (client.Explanation, error) {
		return api.Explain(ctx, id)
	}, func(e *client.Explanation) json.RawMessage { return e.Raw }, func(w io.Writer, e *client.Explanation) {
		fmt.Fprintln(w, plainLines(e.Text))
	})
}
