package client_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/client"
)

// door is a place where a caller writes a key: it gives the operation's id, or the
// code and the reason of a refusal.
type door struct {
	name   string
	submit func(t *testing.T, b *bureau, text string) (id, refusal string)
}

// told is what a door said: an operation, or why not.
func told(id string, err error) (string, string) {
	if err == nil {
		return id, ""
	}
	if p, ok := errors.AsType[*client.Problem](err); ok {
		return "", strings.TrimSpace(fmt.Sprint(p.Code, " ", p.Reason, " ", p.Hint != ""))
	}
	if e, ok := errors.AsType[*onefold.Error](err); ok {
		return "", strings.TrimSpace(fmt.Sprint(e.Code, " ", e.Reason, " ", e.Hint != "" || onefold.ProblemOf(e.Code).Advice != ""))
	}
	return "", err.Error()
}

// submission is payment as the library takes it.
func submission(key string) onefold.Submission {
	return onefold.Submission{Workspace: "acme", Capability: "payments.send", Key: key, Request: payment(key).Request, SubmittedBy: "maria", MayRead: true}
}

// bareDoors are those at which a text is the key as it stands.
func bareDoors() []door {
	return []door{
		{"a batch's member", func(t *testing.T, b *bureau, text string) (string, string) {
			t.Helper()
			results, err := b.Batch(t.Context(), []client.Submission{payment(text)})
			must(t, err)
			if err := results[0].Err(); err != nil {
				return told("", err)
			}
			return results[0].Operation.ID, ""
		}},
		{"the client", func(t *testing.T, b *bureau, text string) (string, string) {
			t.Helper()
			got, err := b.Submit(t.Context(), payment(text))
			return told(got.ID, err)
		}},
		{"the client's dry run", func(t *testing.T, b *bureau, text string) (string, string) {
			t.Helper()
			got, err := b.DryRun(t.Context(), payment(text))
			return told(got.Operation.ID, err)
		}},
		{"the library", func(t *testing.T, b *bureau, text string) (string, string) {
			t.Helper()
			op, _, err := b.ledger.Submit(t.Context(), submission(text))
			return told(op.ID, err)
		}},
		{"the library's dry run", func(t *testing.T, b *bureau, text string) (string, string) {
			t.Helper()
			preview, _, err := b.ledger.DryRun(t.Context(), submission(text))
			return told(preview.Operation.ID, err)
		}},
	}
}

// header submits with the text as the value of Idempotency-Key.
func (b *bureau) header(t *testing.T, text string) (id, refusal string) {
	t.Helper()
	body, err := json.Marshal(payment(text))
	must(t, err)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.url+"/v1/operations", strings.NewReader(string(body)))
	must(t, err)
	r.Header = http.Header{"Authorization": {"Bearer " + b.token}, "Content-Type": {"application/json"}, "Idempotency-Key": {text}}
	answer, err := http.DefaultClient.Do(r)
	must(t, err)
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	must(t, err)
	var said struct{ ID, Code, Reason, Hint string }
	must(t, json.Unmarshal(raw, &said))
	if said.ID != "" {
		return said.ID, ""
	}
	return "", strings.TrimSpace(fmt.Sprint(said.Code, " ", said.Reason, " ", said.Hint != ""))
}

// One text is one key at every door, or none: whichever takes it finds the same
// operation, and those that take keys bare all refuse the same texts in the same
// words. A text that only the header takes, the quoted form, is refused everywhere
// else, and a quoted form of what only looks like one is refused by the header too.
// Proves: I1, I4
func TestOneTextIsOneKeyAtEveryDoor(t *testing.T) {
	t.Parallel()
	defer http.DefaultClient.CloseIdleConnections()
	const leading = "key_invalid leading_quote true"
	for _, c := range []struct{ text, bare, header string }{
		{"k-1", "", ""},
		{`k"1`, "", ""},
		{`k-1"`, "", ""},
		{`k\"1`, "", ""},
		{"~" + strings.Repeat("k", 254), "", ""},
		{`"k-2"`, leading, ""},
		{`"k\"2"`, leading, ""},
		{`"`, leading, "key_invalid quoted true"},
		{`"k-3`, leading, "key_invalid quoted true"},
		{`"\"k-3\""`, leading, leading},
		{`"\""`, leading, leading},
		{`""`, leading, "key_invalid empty true"},
		{"k 4", "key_invalid white_space true", "key_invalid white_space true"},
		{`"k 4"`, leading, "key_invalid white_space true"},
		{"k\u00e44", "key_invalid visible_ascii true", "key_invalid visible_ascii true"},
		{"k\u00a04", "key_invalid white_space true", "key_invalid white_space true"},
		{"k" + strings.Repeat("k", 255), "key_invalid length true", "key_invalid length true"},
	} {
		b := newBureau(t)
		want, refusal := b.header(t, c.text)
		if refusal != c.header {
			t.Errorf("%q as a header: %q, wanted %q", c.text, refusal, c.header)
		}
		for _, d := range bareDoors() {
			id, refusal := d.submit(t, b, c.text)
			if refusal != c.bare || c.bare == "" && id != want {
				t.Errorf("%q by %s: operation %q and %q, wanted %q and %q", c.text, d.name, id, refusal, want, c.bare)
			}
		}
		page, err := b.Operations(t.Context(), client.Filter{Key: c.text})
		switch {
		case c.bare != "":
			isProblem(t, err, onefold.CodeParameterInvalid, client.ExitRefused)
		case err != nil || len(page.Items) != 1 || page.Items[0].ID != want || page.Items[0].Key != c.text:
			t.Errorf("%q is looked for: %v, %v", c.text, page.Items, err)
		}
	}
}
