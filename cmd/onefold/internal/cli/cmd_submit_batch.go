package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/client"
	"github.com/onefold-dev/onefold/identity"
)

// batchEntry is one line of a batch: a submission that is to be sent, or why it
// is not.
type batchEntry struct {
	line   int
	key    *string // nil where the line has none that can be read
	text   json.RawMessage
	result client.BatchResult // it has a problem from the beginning where the line is not sent
}

// batchRun is a batch under way: lines are gathered up to what one call takes,
// sent, and answered in their order.
type batchRun struct {
	app     *app
	api     *client.Client
	entries []batchEntry
	bytes   int // of the entries' texts, with a comma for each

	admitted, known, refused, undecided int
}

// submitBatch sends the submissions of a file of lines.
func (a *app) submitBatch(c *cobra.Command, name string) error {
	var other string
	c.Flags().Visit(func(f *pflag.Flag) {
		if f.Name != "batch" && f.Name != "server" && f.Name != "output" {
			other = f.Name
		}
	})
	if other != "" {
		return usage("with --batch each line says it for itself", "--%s does not go with --batch", other)
	}
	api, err := a.client()
	if err != nil {
		return err
	}
	defer api.Close()
	in := a.Stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return unreadable(name, err)
		}
		defer func() { _ = f.Close() }()
		in = f
	}
	b := &batchRun{app: a, api: api}
	err = b.run(c.Context(), name, bufio.NewReader(in))
	b.summary(err)
	switch {
	case b.undecided > 0:
		a.exit = ExitFailed
	case b.refused > 0:
		a.exit = ExitRefused
	}
	return err
}

// run reads all lines and sends them. What was answered before an error stays
// answered, and was printed.
func (b *batchRun) run(ctx context.Context, name string, in *bufio.Reader) error {
	for line := 1; ; line++ {
		text, fits, err := readLine(in, client.MaxBatchBytes-1)
		if err != nil && !errors.Is(err, io.EOF) {
			return errors.Join(b.send(ctx), unreadable(name, err))
		}
		if len(bytes.TrimSpace(text)) > 0 || !fits {
			if err := b.add(ctx, readEntry(line, text, fits)); err != nil {
				return err
			}
		}
		if err != nil {
			return b.send(ctx)
		}
	}
}

// readLine reads one line without its end, no more than most bytes of it; fits is
// false for a longer one, which is passed over. The last line has io.EOF.
func readLine(in *bufio.Reader, most int) (text []byte, fits bool, err error) {
	fits = true
	for {
		part, err := in.ReadSlice('\n')
		if fits && len(text)+len(part) > most+1 {
			text, fits = nil, false
		}
		if fits {
			text = append(text, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimSuffix(text, []byte("\n")), fits, err
		}
	}
}

// readEntry reads a line as strictly as the server does, so that only JSON is sent
// and an offset counts bytes of the line.
func readEntry(line int, text []byte, fits bool) batchEntry {
	e := batchEntry{line: line, text: text}
	if !fits {
		e.refuse(&client.Problem{Code: onefold.CodeTooLarge, Detail: fmt.Sprintf("a line has at most %d bytes", client.MaxBatchBytes-1)})
		return e
	}
	v, err := identity.Parse(text, identity.Limits{MaxBytes: len(text), MaxDepth: identity.DefaultMaxDepth + 1})
	if syntax, ok := errors.AsType[*identity.SyntaxError](err); ok {
		e.refuse(&client.Problem{
			Code: onefold.CodeJSONInvalid, Detail: "the line is no acceptable JSON: " + syntax.Detail, Reason: syntax.Reason, Offset: &syntax.Offset,
		})
		return e
	}
	if key, there := v.Get("idempotency_key"); there && key.Kind() == identity.String {
		text := key.Text()
		e.key = &text
	}
	return e
}

// refuse keeps a line from being sent.
func (e *batchEntry) refuse(p *client.Problem) {
	known := onefold.ProblemOf(p.Code)
	p.Status, p.Retry = known.Status, known.Retry
	e.text, e.result = nil, client.BatchResult{Status: known.Status, Problem: p}
}

// add takes a line in, and sends what was gathered before where both are more than
// one call takes.
func (b *batchRun) add(ctx context.Context, e batchEntry) error {
	if len(b.entries) == client.MaxBatch || b.bytes+len(e.text)+1 > client.MaxBatchBytes {
		if err := b.send(ctx); err != nil {
			return err
		}
	}
	b.entries = append(b.entries, e)
	b.bytes += len(e.text) + 1
	return nil
}

// send submits what was gathered and prints a result for each line.
func (b *batchRun) send(ctx context.Context) error {
	entries := b.entries
	b.entries, b.bytes = nil, 0
	var texts []json.RawMessage
	for i := range entries {
		if entries[i].result.Problem == nil {
			texts = append(texts, entries[i].text)
		}
	}
	results, err := b.api.BatchJSON(ctx, texts)
	if err != nil {
		return err
	}
	for i := range entries {
		if entries[i].result.Problem == nil {
			entries[i].result, results = results[0], results[1:]
		}
		if err := b.print(&entries[i]); err != nil {
			return err
		}
	}
	return nil
}

// batchLine is a line's result: what the interface says of it, with the line's
// number and key.
type batchLine struct {
	Line       int             `json:"line"`
	Key        *string         `json:"idempotency_key"`
	Status     int             `json:"status"`
	Replayed   bool            `json:"replayed"`
	Location   *string         `json:"location"`
	RetryAfter *int            `json:"retry_after"`
	Operation  json.RawMessage `json:"operation"`
	Problem    map[string]any  `json:"problem"`
}

// print tells what became of a line.
func (b *batchRun) print(e *batchEntry) error {
	r := &e.result
	var words string
	var operation json.RawMessage
	switch {
	case r.Problem != nil && r.Problem.Retry == onefold.RetrySame:
		b.undecided++
		words = "not decided, send it again: " + r.Problem.Error()
	case r.Problem != nil:
		b.refused++
		words = "refused: " + r.Problem.Error() + differs(r.Problem) + advice(r.Problem)
	case r.Replayed:
		b.known++
		words, operation = "known already: "+r.Operation.ID+", "+stateWords(r.Operation), r.Operation.Raw
	default:
		b.admitted++
		words, operation = "admitted: "+r.Operation.ID+", "+stateWords(r.Operation), r.Operation.Raw
	}
	if b.app.json {
		return b.app.line(batchLine{e.line, e.key, r.Status, r.Replayed, r.Location, r.RetryAfter, operation, problemMembers(r.Problem)})
	}
	place := fmt.Sprintf("line %d", e.line)
	if e.key != nil {
		place += ", " + plain(*e.key)
	}
	_, err := fmt.Fprintf(b.app.Stdout, "%s: %s\n", place, plain(words))
	return err
}

// problemMembers are all members of a problem, nil for none. Its offset counts
// from the line's first byte.
func problemMembers(p *client.Problem) map[string]any {
	if p == nil {
		return nil
	}
	members := fromProblem(p).problem
	if p.Offset != nil {
		members["offset"] = *p.Offset
	}
	return members
}

// differs names what a conflict is about.
func differs(p *client.Problem) string {
	var places []string
	for _, d := range p.Differences {
		places = append(places, d.Pointer)
	}
	if len(places) == 0 {
		return ""
	}
	return " (differs at " + shorten(strings.Join(places, ", "), 200) + ")"
}

// advice is a hint that says more than the page of its code.
func advice(p *client.Problem) string {
	if p.Hint == "" || p.Hint == onefold.ProblemOf(p.Code).Advice {
		return ""
	}
	return "; " + p.Hint
}

// summary tells a person how it went, beside the results.
func (b *batchRun) summary(err error) {
	if b.app.json || err != nil && b.admitted+b.known+b.refused+b.undecided == 0 {
		return
	}
	fmt.Fprintf(b.app.Stderr, "%d admitted, %d known already, %d refused, %d not decided\n", b.admitted, b.known, b.refused, b.undecided)
	if err != nil || b.undecided > 0 {
		fmt.Fprintln(b.app.Stderr, "the same command again is safe: what is known already is not admitted twice")
	}
}
