package contract

import (
	"net/netip"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/onefold-dev/onefold"
)

// sample is a file of testdata/agreements: one capability over one connection.
type sample struct{ file, capability, connection string }

func agreementSamples() []sample {
	return []sample{
		{"enforced", "bills.create", "acme-erp"},
		{"assumed", "invoices.issue", "books"},
		{"reconcilable", "orders.create", "shop-north"},
		{"detectable", "payments.send", "house-bank"},
		{"none", "notes.post", "pager"},
		{"go", "payslips.issue", "payroll"},
		{"accepted", "payments.transfer", "acme-settling"},
		{"shared", "contacts.merge", "addressbook"},
	}
}

// source is the text of a sample.
func (s sample) source(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("testdata/agreements/" + s.file + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// catalogOf publishes texts that hold any number of documents, in the order
// given, and refuses what Lint refuses: an agreement is of a contract that can run.
func catalogOf(t *testing.T, o CatalogOptions, texts ...string) *Catalog {
	t.Helper()
	var decoded []Document
	var docs []onefold.Document
	for _, text := range texts {
		found, faults := DecodeFile("agreement.yaml", []byte(text))
		if len(faults) > 0 {
			t.Fatal(faults)
		}
		decoded = append(decoded, found...)
		for i := range found {
			docs = append(docs, onefold.Document{Source: found[i].Source, Version: max(found[i].Version, 1)})
		}
	}
	if faults, _ := Lint(&Set{New: decoded}); len(faults) > 0 {
		t.Fatal(faults)
	}
	r := NewRegistry(Options{Secret: []byte("vector-secret"), SecretID: "s1"})
	if err := r.Load(docs); err != nil {
		t.Fatal(err)
	}
	return NewCatalog(r, o)
}

func (s sample) agreement(t *testing.T, o CatalogOptions, text string) onefold.Agreement {
	t.Helper()
	a, err := catalogOf(t, o, text).Agreement("acme", s.capability, s.connection)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func loopback() CatalogOptions {
	return CatalogOptions{AllowCIDRs: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}}
}

// The agreement of each strength of protection is, to the letter, the page that
// was read and approved by people.
//
// Proves: I33, M26, M27, M30
func TestAgreementsAsTheyWereApproved(t *testing.T) {
	t.Parallel()
	for _, s := range agreementSamples() {
		t.Run(s.file, func(t *testing.T) {
			t.Parallel()
			o := CatalogOptions{}
			if s.file == "none" {
				o = loopback()
			}
			golden(t, "agreements/"+s.file+".md", s.agreement(t, o, s.source(t)).Markdown)
		})
	}
}

// Behind a proxy names are looked up by somebody else, and the page says what
// that takes away.
//
// Proves: I33
func TestTheAgreementSaysWhatAProxyMeans(t *testing.T) {
	t.Parallel()
	s := agreementSamples()[0]
	with := s.agreement(t, CatalogOptions{Proxy: "proxy.internal:3128"}, s.source(t)).Markdown
	for _, words := range []string{"`proxy.internal:3128`", "what a name leads to is not checked by onefold"} {
		if !strings.Contains(with, words) {
			t.Errorf("the page lacks %q", words)
		}
	}
	if without := s.agreement(t, CatalogOptions{}, s.source(t)).Markdown; strings.Contains(without, "proxy") {
		t.Error("a proxy that there is not is spoken of")
	}
}

// sectionIDs never change once they were published: others link to them.
func sectionIDs() []string {
	return []string{
		"overview", "keys", "comparison", "repeats", "duplicates", "retention", "sending", "protection", "lookup",
		"answers", "recovery", "budgets", "limits", "mode", "assumptions", "addresses", "not_promised",
	}
}

// Whatever the contract, an agreement has all of its sections with something in
// each, one title, and never the promise that nobody can keep.
//
// Proves: I33, M26
func TestEveryAgreementIsWhole(t *testing.T) {
	t.Parallel()
	boast := regexp.MustCompile(`(?i)exactly` + `[\s_-]*` + `once`)
	for _, s := range agreementSamples() {
		a := s.agreement(t, CatalogOptions{}, s.source(t))
		var ids []string
		for _, section := range a.Sections {
			ids = append(ids, section.ID)
			if len(section.Lines) == 0 {
				t.Errorf("%s: nothing in %s", s.file, section.ID)
			}
			for _, line := range section.Lines {
				if strings.TrimSpace(line) == "" || strings.ContainsAny(line, "\n\ue000\ue001\ue002") || boast.MatchString(line) {
					t.Errorf("%s: %s: %q", s.file, section.ID, line)
				}
			}
			if !strings.Contains(a.Markdown, "\n## "+section.Title+"\n") {
				t.Errorf("%s: the page lacks %q", s.file, section.Title)
			}
		}
		if diff := cmp.Diff(sectionIDs(), ids); diff != "" {
			t.Errorf("%s (-want +got):\n%s", s.file, diff)
		}
		if n := strings.Count("\n"+a.Markdown, "\n# "); n != 1 {
			t.Errorf("%s: %d titles", s.file, n)
		}
		if boast.MatchString(a.Markdown) || strings.ContainsAny(a.Markdown, "\ue000\ue001\ue002") {
			t.Errorf("%s: a page with what no page may hold", s.file)
		}
		tablesHold(t, a.Markdown)
	}
}

// unescapedBar finds the bars that part cells.
var unescapedBar = regexp.MustCompile(`(^|[^\\])\|`)

// tablesHold wants as many cells in each row of a table as in its head.
func tablesHold(t *testing.T, page string) {
	t.Helper()
	cells := 0
	for _, line := range strings.Split(page, "\n") {
		if !strings.HasPrefix(line, "|") {
			cells = 0
			continue
		}
		n := len(unescapedBar.FindAllString(line, -1))
		if cells == 0 {
			cells = n
		}
		if n != cells {
			t.Errorf("%d bars instead of %d: %s", n, cells, line)
		}
	}
}

// sectionText is a section's lines as one text.
func sectionText(t *testing.T, a *onefold.Agreement, id string) string {
	t.Helper()
	i := slices.IndexFunc(a.Sections, func(s onefold.AgreementSection) bool { return s.ID == id })
	if i < 0 {
		t.Fatalf("no section %s", id)
	}
	return strings.Join(a.Sections[i].Lines, "\n")
}

// The agreement is written from the contract that runs: whatever a document
// changes, the agreement says it in the section where a reader looks for it.
//
// Proves: I33, M27, M30, I26, I30, M11a, M12, M12a, M13, M15, M16, M16a
func TestAgreementSaysWhatTheContractSays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ file, from, to, section, says string }{
		{"enforced", "/trace_id: {ignore: true}", "/memo2: {ignore: true}", "comparison", "Ignored in the request: /memo2."},
		{"enforced", "scale: 2", "scale: 4", "comparison", "more than 4 decimal places are refused"},
		{"enforced", "text: [trim]", "text: [trim, casefold]", "comparison", "without white space at its ends, then without regard to capital letters"},
		{"enforced", "/trace_id: {ignore: true}", "/trace_id: {instant: true}", "comparison", "Ignored in the request: nothing"},
		{"enforced", "retention: {key: 720h", "retention: {key: 90d", "retention", "Key: 90 days; the key answers 410"},
		{"enforced", "history: 9480h", "history: 100d", "retention", "(operation, attempts, evidence): 100 days"},
		{"enforced", "guaranteed: 24h", "guaranteed: 36h", "protection", "36 hours"},
		{"enforced", "guaranteed: 24h", "guaranteed: 36h", "not_promised", "Inside the target's window of 36 hours that is a repeat"},
		{"enforced", "guaranteed: 24h", "guaranteed: forever", "not_promised", "The target recognises that as a repeat."},
		{"enforced", "guaranteed: 24h", "guaranteed: forever", "protection", "A repeat may be sent: without end"},
		{"enforced", "timeout: 20s", "timeout: 25s", "protection", "25.5 s: one time-out (25 s) and the error of our own clock (0.5 s)"},
		{"enforced", "scope: [account, credential]", "scope: [account, region]", "protection", "account and region"},
		{"enforced", "in_doubt: [replay, lookup, operator]", "in_doubt: [lookup, operator]", "protection", "A repeat may be sent: never: the contract does not name it"},
		{"enforced", "concurrent: {rule: same key in progress}", "concurrent: duplicates", "overview", "Protection: reconcilable"},
		{"enforced", "concurrent: {rule: same key in progress}", "concurrent: duplicates", "not_promised", "for longer than the straggler time (10 minutes) can still cause a second effect (M30)"},
		{"enforced", "settle: 5s", "settle: 90s", "lookup", "the look-up began 2 minutes or more"},
		{"enforced", "settle: 5s", "settle: 90s", "not_promised", "Absence is trusted after 2 minutes."},
		{"enforced", "absence: authoritative", "absence: inconclusive", "lookup", "Absence proves nothing here: the contract calls absence inconclusive."},
		{"enforced", "outcome: confirmed, reference: /id}", "outcome: confirmed, reference: /bill/id}", "answers", "its reference stands at /bill/id"},
		{"enforced", "{status: 429}, outcome: not_applied", "{status: 420}, outcome: not_applied", "answers", "throttled; status 420; this attempt had no effect"},
		{"enforced", "verify: {/total: $request/total}", "verify: {/sum: $request/total}", "sending", "Answer is held against the request in: /sum"},
		{"enforced", "attempts: 8", "attempts: 3", "budgets", "at most 3, within 6 hours of the first dispatch"},
		{"enforced", "exhausted: hold", "exhausted: reject", "budgets", "the operation is rejected (retry_exhausted)"},
		{"enforced", "reconcile: {within: 24h", "reconcile: {within: 20h", "budgets", "Finding out: within 20 hours of the first doubt"},
		{"enforced", "after: 8h, to: finance-lead", "after: 9h, to: the-board", "budgets", "still open after 9 hours names the-board as well"},
		{"enforced", "owner: maria@acme.example", "owner: joe@acme.example", "recovery", "A review for joe@acme.example opens"},
		{"enforced", "unresolved: 200", "unresolved: 7", "limits", "With 7 operations uncertain at the connection, new ones are refused (429 admission_limited)"},
		{"enforced", "per_second: 20", "per_second: 2.5", "limits", "Attempts and look-ups in a second: 2.5"},
		{"enforced", "mode: autonomous", "mode: approval", "mode", "Each new operation is admitted and stored, and held (approval)"},
		{"enforced", "account: \"7\"", "account: \"8\"", "overview", "account 8"},
		{"enforced", "url: https://erp.example/acme", "url: https://erp.example/other", "addresses", "https://erp.example/other"},
		{"assumed", "owner: joe@acme.example, date: 2026-01-01, reason: measured twice", "owner: ann@acme.example, date: 2026-02-03, reason: guessed", "assumptions", "identity.window: 48 hours; ann@acme.example; 2026-02-03; guessed"},
		{"assumed", "code: /reason, settles: operation}", "code: /why}", "answers", `closed books; status 423 and /code is "closed"; refused for good: rejected; with the code at /why` + "\n"},
		{"detectable", "settle: undocumented", "settle: 3s", "lookup", "stay invisible: 3 seconds"},
		{"detectable", "owner: maria@acme.example\n", "owner: maria@acme.example\nacknowledged: {by: joe, date: 2026-03-04, reason: few and watched}\n", "mode", "acknowledged by: joe on 2026-03-04, because: few and watched"},
		{"detectable", "owner: maria@acme.example\n", "owner: maria@acme.example\nacknowledged: {by: joe, date: 2026-03-04, reason: few and watched}\n", "overview", "Mode in force: autonomous"},
		{"none", "acknowledged:", "mode: approval\nacknowledged:", "mode", "Mode as declared: approval"},
	} {
		s := agreementSamples()[slices.IndexFunc(agreementSamples(), func(s sample) bool { return s.file == c.file })]
		text := s.source(t)
		changed := strings.Replace(text, c.from, c.to, 1)
		if changed == text {
			t.Fatalf("%s does not hold %q", c.file, c.from)
		}
		was, is := s.agreement(t, CatalogOptions{}, text), s.agreement(t, CatalogOptions{}, changed)
		if got := sectionText(t, &is, c.section) + "\n"; !strings.Contains(got, c.says) {
			t.Errorf("%s with %q: %s does not say %q:\n%s", c.file, c.to, c.section, c.says, got)
		}
		if strings.Contains(sectionText(t, &was, c.section)+"\n", c.says) {
			t.Errorf("%s says %q without %q too", c.file, c.says, c.to)
		}
	}
}
