package cli

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Exit code 0 of submit says that an operation is stored. Whatever answers in a
// server's place with success stored none, and the command says so.
//
// Proves: M22, M26
func TestASubmissionThatSomebodyElseAnswers(t *testing.T) {
	t.Parallel()
	const submission = `{"idempotency_key":"k","capability":"a","request":{}}`
	for _, body := range []string{
		`{}`, `{"ok":true}`, `{"state":"confirmed"}`, `{"id":"op_1","state":"weird"}`, `{"id":"op_1","state":"confirmed","idempotency_key":"other"}`,
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusCreated)
			_, _ = io.WriteString(w, body)
		}))
		for _, args := range [][]string{
			{"submit", "--capability", "a", "--key", "k", "-", "--output", "json"},
			{"submit", "--capability", "a", "--key", "k", "-", "--wait", "2s", "--output", "json"},
			{"submit", "--batch", "-", "--output", "json"},
			{"ops", "show", "op_2", "--output", "json"},
		} {
			code, stdout, stderr := runs(t, server.URL, submission, args...)
			if code != ExitFailed || stdout != "" || !strings.Contains(stderr, `"no_answer"`) {
				t.Errorf("%v answered with %s: exit code %d\n%s%s", args, body, code, stdout, stderr)
			}
		}
		server.Close()
	}
}
