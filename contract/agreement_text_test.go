package contract

import (
	"net/http"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"github.com/onefold-dev/onefold"
)

// Words of documents stay words: whatever is written in a summary, a reason or
// a rule's name, the page has one title, its tables keep their cells, and no tag
// or heading comes out of it.
//
// Proves: I33
func TestDocumentsCannotBreakThePage(t *testing.T) {
	t.Parallel()
	const evil = "a | b `c` ``d`` <script>alert(1)</script> [x](javascript:y) **z** \\\\| _q_ &lt; ~~w~~ # h"
	s := agreementSamples()[0]
	text := s.source(t)
	for from, to := range map[string]string{
		"summary: Create a supplier bill": "summary: '" + evil + "'",
		"owner: accounts-payable":         "owner: '" + evil + "'",
		"name: throttled":                 "name: '" + evil + "'",
		`account: "7"`:                    "account: '" + evil + "'",
		"acknowledged: null":              "acknowledged: {by: '" + evil + "', date: 2026-01-01, reason: '" + evil + "'}",
		`source: "built in"`:              "source: '" + evil + "'",
		"owner: maria@acme.example":       "owner: '" + evil + "'",
		"/trace_id: {ignore: true}":       `"/a|b\n# not a title": {ignore: true}`,
	} {
		changed := strings.Replace(text, from, to, 1)
		if changed == text {
			t.Fatalf("no %q", from)
		}
		text = changed
	}
	a := s.agreement(t, CatalogOptions{}, text)
	tablesHold(t, a.Markdown)
	if n := strings.Count("\n"+a.Markdown, "\n# "); n != 1 {
		t.Errorf("%d titles", n)
	}
	if outside := withoutCode(a.Markdown); strings.Contains(strings.ReplaceAll(outside, `\<`, ""), "<") {
		t.Error("a tag outside of code")
	}
	if overview := sectionText(t, &a, "overview"); !strings.Contains(overview, evil) {
		t.Errorf("the plain lines do not say it as it is written:\n%s", overview)
	}
}

// withoutCode leaves code spans out, as a reader of Markdown finds them: a run
// of backticks up to the next run of the same length.
func withoutCode(page string) string {
	var b strings.Builder
	for page != "" {
		at := strings.IndexAny(page, "`\\")
		if at < 0 {
			b.WriteString(page)
			break
		}
		b.WriteString(page[:at])
		page = page[at:]
		if page[0] == '\\' && len(page) > 1 {
			b.WriteString(page[:2])
			page = page[2:]
			continue
		}
		run := len(page) - len(strings.TrimLeft(page, "`"))
		end := closing(page[run:], run)
		if end < 0 {
			b.WriteString(page[:run])
			page = page[run:]
			continue
		}
		page = page[run+end+run:]
	}
	return b.String()
}

// closing finds a run of exactly so many backticks.
func closing(s string, run int) int {
	for i := 0; i < len(s); {
		if s[i] != '`' {
			i++
			continue
		}
		n := len(s[i:]) - len(strings.TrimLeft(s[i:], "`"))
		if n == run {
			return i
		}
		i += n
	}
	return -1
}

// For any text: marked as code it is one code span, marked as prose it keeps no
// character that Markdown would act on, and the plain form shows it as it is.
//
// Proves: I33
func TestMarksHoldAnyText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.String(), rapid.StringOf(rapid.SampledFrom([]rune("`|\\ <>*_[]a\ue000\ue002\n")))).Draw(t, "text")
		if s == "" {
			return
		}
		if got := withoutCode("x" + markdown(code(s), false) + "y"); got != "xy" {
			t.Fatalf("code %q leaves %q", s, got)
		}
		for _, marked := range []string{code(s), prose(s)} {
			cell := markdown("x"+marked+"y", true)
			if len(unescapedBar.FindAllString(strings.ReplaceAll(cell, `\\`, ""), -1)) > 0 {
				t.Fatalf("%q parts a cell: %s", s, cell)
			}
			shown := plain(marked)
			if strings.IndexFunc(shown, func(r rune) bool { return !unicode.IsPrint(r) }) >= 0 {
				t.Fatalf("%q shows as %q", s, shown)
			}
		}
		bare := strings.NewReplacer(`\\`, "", "\\`", "", `\<`, "", `\*`, "", `\[`, "", `\|`, "").Replace(markdown(prose(s), false))
		if strings.ContainsAny(bare, "`<*[|") {
			t.Fatalf("prose %q keeps %q", s, bare)
		}
	})
}

// What the agreement says of answers without a rule is what happens to them.
//
// Proves: I33, M13
func TestGenericAnswersAreTheOnesThatAreGiven(t *testing.T) {
	t.Parallel()
	op := &TargetOperation{Write: Write{Method: http.MethodPost, Path: "/"}}
	p, faults := compileOperation(op)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	for status := 200; status <= 599; status++ {
		said := otherAnswer()
		for _, g := range genericAnswers() {
			if matchesStatus(g.statuses, status) {
				said = g
			}
		}
		for _, clean := range []bool{true, false} {
			want := said.unclean
			if clean {
				want = said.clean
			}
			x := &onefold.Exchange{Status: status, Complete: true, Body: []byte(`{}`)}
			got, _ := p.judge(&materials{op: &onefold.Operation{}, connection: &Connection{}}, x, clean)
			if got.Outcome != want || got.EffectExists != said.exists || got.PauseConnection != (said.pauses && clean) {
				t.Errorf("%d %s, clean %v: %+v, but the agreement says %+v", status, http.StatusText(status), clean, got, said)
			}
		}
	}
}
