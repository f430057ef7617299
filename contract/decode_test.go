package contract

import (
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/identity"
)

// What the first example says arrives in the model as it is written, and what
// it leaves out as its default.
func TestTheExampleIsReadAsWritten(t *testing.T) {
	t.Parallel()
	docs := examples(t)
	c, target, connection := docs[0].Capability, docs[1].Target, docs[2].Connection
	op := target.serves("bills.create", 3)
	if op == nil {
		t.Fatal("the target does not serve its capability")
	}
	records := "/items"
	for _, pair := range []struct{ name, got, want any }{
		{"retention", c.Retention, Retention{720 * time.Hour, onefold.Forever, 720 * time.Hour, 9480 * time.Hour, onefold.Forever}},
		{"retry", c.Retry, Retry{8, 6 * time.Hour, onefold.Backoff{First: time.Second, Factor: 2, Max: 10 * time.Minute}, onefold.ExhaustedHold}},
		{"reconcile", c.Reconcile, Reconcile{24 * time.Hour, onefold.Backoff{First: 5 * time.Second, Factor: 2, Max: time.Hour}, 8 * time.Hour, "finance-lead"}},
		{"amount", *c.Amount, Amount{"/total", "/currency"}},
		{"format", op.Identity.Format, Format{Format: identity.Format{Max: 64, Alphabet: "uuid", UUIDVersion: 4}}},
		{"scope", op.Identity.Scope, Documented[[]ScopePart]{Value: []ScopePart{ScopeAccount, ScopeCredential}, Written: true}},
		{"window", op.Identity.Window, Documented[time.Duration]{Value: 24 * time.Hour, Written: true}},
		{"anchor", op.Identity.Anchor, Documented[Anchor]{Value: AnchorFirstReceived, Written: true}},
		{"stores", op.Identity.Stores.Value, []StatusMatch{{Class: 2}, {Class: 4}}},
		{"concurrent", op.Identity.Concurrent.Value, Concurrent{Rule: "same key in progress"}},
		{"status", op.Responses[0].When.Status, []StatusMatch{{Code: 200}, {Code: 201}}},
		{"records", op.Lookups[0].Records, &records},
		{"complete", op.Lookups[0].Complete, &Complete{Always: true}},
		{"look-up's time-out", op.Lookups[0].Timeout, 20 * time.Second},
		{"in doubt", op.InDoubt, []onefold.RecoveryStep{"replay", "lookup", "operator"}},
		{"auth", connection.Auth, onefold.Auth{Scheme: "bearer", Secret: "token"}},
		{"secrets", connection.Secrets, map[string]string{"token": "env:ONEFOLD_S_ACME__ERP_TOKEN", "webhook": "file:acme/erp-webhook"}},
		{"limits", connection.Limits, Limits{8, 20, 200}},
		{"account", connection.Account, "7"},
		{"target", fmt.Sprintf("%s@%d", connection.Target, connection.TargetVersion), "sandbox-erp@1"},
	} {
		if diff := cmp.Diff(pair.want, pair.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", pair.name, diff)
		}
	}
	if docs[0].Version != 3 || docs[2].Workspace != "acme" || docs[2].Version != 0 {
		t.Errorf("handles: %s, %s", handle(&docs[0]), handle(&docs[2]))
	}
}

// A capability that says nothing has the defaults of I26 and section 3.
//
// Proves: I26
func TestDefaults(t *testing.T) {
	t.Parallel()
	docs, faults := DecodeFile("x.yaml", []byte("kind: capability\nname: a.b\nversion: 1\nrequest: {}\n"))
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	c := docs[0].Capability
	want := &Capability{
		Name: "a.b", Version: 1, Request: c.Request,
		Retention: Retention{720 * time.Hour, onefold.Forever, 720 * time.Hour, 395 * 24 * time.Hour, onefold.Forever},
		Retry:     Retry{8, 6 * time.Hour, onefold.Backoff{First: time.Second, Factor: 2, Max: 10 * time.Minute}, onefold.ExhaustedHold},
		Reconcile: Reconcile{Within: 24 * time.Hour, Backoff: onefold.Backoff{First: 5 * time.Second, Factor: 2, Max: time.Hour}},
	}
	if diff := cmp.Diff(want, c, cmp.Comparer(func(a, b *identity.Value) bool { return a == b })); diff != "" {
		t.Error(diff)
	}
}

// A document that was taken out of its file says the same: its source decodes
// again to the same canonical form, as YAML and as JSON.
//
// Proves: I12
func TestSourceAndCanonicalFormSayTheSame(t *testing.T) {
	t.Parallel()
	docs, faults := DecodeDir(os.DirFS("testdata/good"))
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	var kept []onefold.Document
	for i := range docs {
		kept = append(kept, docs[i].Publication())
	}
	again, faults := DecodePublished(kept)
	if len(faults) > 0 || len(again) != len(docs) {
		t.Fatalf("%d of %d documents: %v", len(again), len(docs), faults)
	}
	for i := range docs {
		asJSON, faults := DecodeFile("x.json", docs[i].Canonical)
		if len(faults) > 0 {
			t.Fatal(faults)
		}
		if string(again[i].Canonical) != string(docs[i].Canonical) || string(asJSON[0].Canonical) != string(docs[i].Canonical) {
			t.Errorf("%s reads differently the second time", handle(&docs[i]))
		}
	}
}

// YAML keeps the digits of numbers, and plain words mean what they mean in JSON.
//
// Proves: I13
func TestPlainWords(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"1.50": "1.50", "1e3": "1e3", "-0": "-0", "12345678901234567890123": "12345678901234567890123",
		"true": "true", "TRUE": "true", "null": "null", "~": "null", "": "null",
		"yes": `"yes"`, "off": `"off"`, "NO": `"NO"`, "2026-11-29": `"2026-11-29"`, "1.2.3": `"1.2.3"`, "E1": `"E1"`, "12e": `"12e"`, "0x": `"0x"`,
		`"007"`: `"007"`, "'1'": `"1"`, "10.0.0.1": `"10.0.0.1"`, "a#b": `"a#b"`, `"\u00e9\n"`: `"é\n"`, "12:30": `"12:30"`,
		"|\n    a\n     b\n": `"a\n b\n"`, ">-\n    a\n    b\n": `"a b"`, "a\n   b": `"a b"`, "[1, {x: y}]": `[1,{"x":"y"}]`, "[]": "[]", "{}": "{}",
	} {
		raws, faults := readYAML("x.yaml", []byte("v: "+word+"\n"))
		if len(faults) > 0 || len(raws) != 1 {
			t.Errorf("%q: %v", word, faults)
			continue
		}
		v, _ := raws[0].tree.Get("v")
		if got := string(v.AppendJSON(nil)); got != want {
			t.Errorf("%q is read as %s, want %s", word, got, want)
		}
	}
	for _, word := range []string{"007", "0x1F", "0o17", "0b11", "1_000", "+5", ".5", "5.", ".inf", "-.INF", ".NaN", "1_0e3"} {
		if raws, faults := readYAML("x.yaml", []byte("v: "+word+"\n")); len(faults) != 1 || len(raws) != 0 {
			t.Errorf("%s is taken: %v", word, faults)
		}
	}
}

// Members are named as written, whatever they look like.
func TestMemberNames(t *testing.T) {
	t.Parallel()
	raws, faults := readYAML("x.yaml", []byte("404: a\ntrue: b\n'null': c\n\"x\\ty\": d\n/a~1b: e\n1.50: f\n"))
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	if got, want := string(raws[0].tree.AppendJSON(nil)), `{"404":"a","true":"b","null":"c","x\ty":"d","/a~1b":"e","1.50":"f"}`; got != want {
		t.Errorf("read as %s, want %s", got, want)
	}
}

// Every pointer of a document has the place at which its member is written,
// comments, several documents, and both kinds of line end notwithstanding.
func TestPlaces(t *testing.T) {
	t.Parallel()
	text := "# one\nkind: x\n---\n# two\né: {a: 1,\n  b: [x, {c: 2}]}\nlist:\n  - n: 1\n    m: |\n      text\n  -   n: 3\n--- # three\nlast: 1\n"
	want := []string{
		" 2:1", "/kind 2:1",
		" 5:1", "/list 7:1", "/list/0 8:5", "/list/0/m 9:5", "/list/0/n 8:5", "/list/1 11:7", "/list/1/n 11:7",
		"/é 5:1", "/é/a 5:5", "/é/b 6:3", "/é/b/0 6:7", "/é/b/1 6:10", "/é/b/1/c 6:11",
		" 13:1", "/last 13:1",
	}
	for _, src := range []string{text, strings.ReplaceAll(text, "\n", "\r\n")} {
		raws, faults := readYAML("x.yaml", []byte(src))
		if len(faults) > 0 {
			t.Fatal(faults)
		}
		var got []string
		for _, r := range raws {
			var lines []string
			for pointer, p := range r.places {
				lines = append(lines, fmt.Sprintf("%s %d:%d", pointer, p.Line, p.Column))
			}
			slices.Sort(lines)
			got = append(got, lines...)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	raws, faults := readJSON("x.json", []byte("[{\"é\": [1,\n {\"b\": 2}]},\n {}]"))
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	if at := raws[0].places["/é/1/b"]; at != (Place{"x.json", 2, 3}) || raws[1].places[""] != (Place{"x.json", 3, 2}) {
		t.Errorf("JSON: %v, %v", at, raws[1].places[""])
	}
}

// Files that nobody would write cost little and never end the program.
func TestOddFiles(t *testing.T) {
	t.Parallel()
	const n = 100_000
	wide := strings.Builder{}
	for i := range n / 10 {
		fmt.Fprintf(&wide, "a%d: b\n", i)
	}
	for name, src := range map[string]string{
		"flow": strings.Repeat("[", n), "maps": strings.Repeat("{a: ", n), "dashes": strings.Repeat("- ", n), "keys": strings.Repeat("a: ", n),
		"questions": strings.Repeat("? ", n), "anchors": strings.Repeat("&a ", n), "quotes": "a: " + strings.Repeat("\"", n),
		"marks": strings.Repeat("---\n", n), "wide": wide.String(), "tokens": "[" + strings.Repeat("1,", n) + "1]", "block": "a: |\n" + strings.Repeat("  x\n", n),
		"laughs": "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n", "too long": strings.Repeat("#", MaxFileBytes+1), "empty": "", "comment": "# nothing\n", "null": "null\n",
		"nul": "a: \x00", "latin1": "a: \xe9", "bom": "\ufeffkind: x", "bell": "a: \"\x07\"", "separator": "a: \u2028", "carriage": "a: b\rc: d", "surrogate": `a: "\ud800"`,
		"deep": func() string {
			b := strings.Builder{}
			for i := range 200 {
				b.WriteString(strings.Repeat(" ", i) + "a:\n")
			}
			return b.String()
		}(),
	} {
		// What this looks for took minutes: it would not end within the test's time-out.
		docs, faults := DecodeFile(name+".yaml", []byte(src))
		if len(docs) > 0 || len(faults) == 0 && name != "empty" && name != "comment" && name != "marks" {
			t.Errorf("%s: %d documents, faults %v", name, len(docs), faults)
		}
		for _, f := range faults {
			if f.File != name+".yaml" || len(f.Detail) > 300 {
				t.Errorf("%s: %s", name, f)
			}
		}
	}
}

// A folder is read whole: sub-folders, all three endings, nothing hidden,
// nothing else; what cannot be read is a fault beside the documents that can.
func TestFolders(t *testing.T) {
	t.Parallel()
	doc := func(name string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte("kind: capability\nname: " + name + "\nversion: 1\nrequest: {}\n")}
	}
	docs, faults := DecodeDir(fstest.MapFS{
		"b.yml": doc("b"), "a/deep/er.yaml": doc("a"), "c.JSON": {Data: []byte(`{"kind":"capability","name":"c","version":1,"request":{}}`)},
		"notes.txt": {Data: []byte("kind: x")}, ".git/x.yaml": {Data: []byte("]")}, ".hidden.yaml": {Data: []byte("]")},
		"bad/one.yaml": {Data: []byte("]")}, "big.json": {Data: make([]byte, MaxFileBytes+1)}, "shut.yaml": {Mode: fs.ModeDir},
	})
	var names []string
	for _, d := range docs {
		names = append(names, d.Name)
	}
	slices.Sort(names)
	if got := strings.Join(names, " "); got != "a b c" {
		t.Errorf("documents %q", got)
	}
	if got := faults.Error(); len(faults) != 2 || !strings.Contains(got, "bad/one.yaml:1:1: ") || !strings.Contains(got, "big.json: the file has more than") {
		t.Errorf("faults:\n%s", got)
	}
	many := fstest.MapFS{}
	for i := range MaxFiles + 1 {
		many[fmt.Sprintf("%d.yaml", i)] = &fstest.MapFile{Data: []byte("# nothing\n")}
	}
	if _, faults := DecodeDir(many); len(faults) != 1 || !strings.Contains(faults.Error(), "more than 2000 files") {
		t.Errorf("a folder of too many files: %v", faults)
	}
	large := fstest.MapFS{}
	for i := range MaxDirBytes/MaxFileBytes + 1 {
		large[fmt.Sprintf("%d.yaml", i)] = &fstest.MapFile{Data: []byte("#" + strings.Repeat(" ", MaxFileBytes-1))}
	}
	if _, faults := DecodeDir(large); len(faults) != 1 || !strings.Contains(faults.Error(), "bytes of documents") {
		t.Errorf("a folder of too many bytes: %v", faults)
	}
	if _, faults := DecodeDir(os.DirFS("testdata/nowhere")); len(faults) != 1 {
		t.Errorf("a folder that is not there: %v", faults)
	}
}

// A document of many faults tells enough of them, and one that has only members
// of later releases says so by its code.
func TestFaultsAsError(t *testing.T) {
	t.Parallel()
	src := strings.Builder{}
	src.WriteString("kind: capability\n")
	for i := range 3 * maxFaults {
		fmt.Fprintf(&src, "x%d: 1\n", i)
	}
	_, faults := DecodeFile("many.yaml", []byte(src.String()))
	if len(faults) != maxFaults {
		t.Errorf("%d faults", len(faults))
	}
	if got := onefold.CodeOf(faults.Err()); got != onefold.CodeDocumentInvalid {
		t.Errorf("code %s", got)
	}
	_, faults = DecodeFile("later.yaml", []byte("kind: capability\nname: a\nversion: 1\nrequest: {}\napproval: {approvers: 2}\n"))
	if got := onefold.CodeOf(faults.Err()); got != onefold.CodeNotSupportedYet {
		t.Errorf("code %s: %v", got, faults)
	}
	if (Faults{}).Err() != nil {
		t.Error("no faults are an error")
	}
}

// A duration is read back from how it is shown.
func TestDurations(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"30d": 720 * time.Hour, "1d12h": 36 * time.Hour, "0s": 0, "0d": 0, "1.5h": 90 * time.Minute, "250ms": 250 * time.Millisecond, "5µs": 5 * time.Microsecond,
	} {
		if got, err := parseDuration(text); err != nil || got != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "d", "5", "-1s", "+1s", "1d-2h", "1h2d", "1w", "1.5d", " 1s", "1s ", "forever", "20000d", "999999h", "1d20000d"} {
		if got, err := parseDuration(text); err == nil {
			t.Errorf("%q is taken as %v", text, got)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Range(0, int64(maxDuration)).Draw(t, "duration"))
		if again, err := parseDuration(formatDuration(d)); err != nil || again != d {
			t.Fatalf("%v is shown as %s and read as %v (%v)", d, formatDuration(d), again, err)
		}
	})
}

// Whatever the text, decoding answers with documents or faults, and every fault
// has a place and a reason.
func FuzzDecodeFile(f *testing.F) {
	for _, folder := range []string{"good", "bad", "later", "warn"} {
		names, err := fs.Glob(os.DirFS("testdata"), folder+"/*.*")
		if err != nil {
			f.Fatal(err)
		}
		for _, name := range names {
			if src, err := os.ReadFile("testdata/" + name); err == nil && !strings.HasSuffix(name, ".golden") {
				f.Add(string(src))
			}
		}
	}
	f.Fuzz(func(t *testing.T, src string) {
		docs, faults := DecodeFile("x", []byte(src))
		more, warnings := Lint(&Set{New: docs})
		for _, fault := range append(faults, more...) {
			if fault.File != "x" || fault.Detail == "" || strings.ContainsAny(fault.String(), "\n\r") {
				t.Errorf("%q: %#v", src, fault)
			}
		}
		for _, w := range warnings {
			if w.Line == 0 {
				t.Errorf("%q: %#v", src, w)
			}
		}
		for i := range docs {
			again, faults := DecodeFile("x.json", docs[i].Canonical)
			if len(faults) > 0 || len(again) != 1 || string(again[0].Canonical) != string(docs[i].Canonical) {
				t.Errorf("%q: canonical form %s reads differently: %v", src, docs[i].Canonical, faults)
			}
		}
	})
}
