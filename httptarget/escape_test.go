package httptarget

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/onefold-dev/onefold/internal/secret"
)

// A target may write a secret with any of its characters escaped.
func TestSecretsAreFoundHoweverTheyAreEscaped(t *testing.T) {
	t.Parallel()
	const token = `ab/cd+ef"gh&ij<kl`
	r := newRedactor(&credential{values: []secret.Value{secret.New([]byte(token))}})
	each := func(format string, escape func(i int) bool) string {
		var b strings.Builder
		for i := range len(token) {
			if escape(i) {
				fmt.Fprintf(&b, format, token[i])
			} else {
				b.WriteByte(token[i])
			}
		}
		return b.String()
	}
	all, odd := func(int) bool { return true }, func(i int) bool { return i%2 == 1 }
	quoted, err := json.Marshal(token)
	if err != nil {
		t.Fatal(err)
	}
	for name, spelling := range map[string]string{
		"plain": token, "slash": strings.ReplaceAll(strings.ReplaceAll(token, "/", `\/`), `"`, `\"`), "json": strings.Trim(string(quoted), `"`),
		"unicode": each(`\u%04x`, all), "some unicode": each(`\u%04X`, odd), "percent": each(`%%%02x`, all), "some percent": each(`%%%02X`, odd),
		"query": url.QueryEscape(token), "html": each(`&#%d;`, odd), "html hex": each(`&#x%x;`, all),
	} {
		for where, got := range map[string]string{
			"text": r.text([]byte("id-" + spelling + "-z")), "known": r.known("id-" + spelling + "-z"), "excerpt": r.excerpt([]byte("id-"+spelling+"-z"), false),
		} {
			if got != "id-"+blot+"-z" {
				t.Errorf("%s in %s: %s", name, where, got)
			}
		}
	}
	if got := r.known("BILL-4111111111111111"); got != "BILL-4111111111111111" {
		t.Errorf("a reference was changed: %s", got)
	}
}
