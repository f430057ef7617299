package contract

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

// today is the day on which the golden documents are looked at.
var today = time.Date(2026, time.November, 29, 0, 0, 0, 0, time.UTC)

// verdict is all that is said about a file, one line for each fault and warning.
func verdict(t *testing.T, name string, published []Document) string {
	t.Helper()
	src, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	docs, faults := DecodeFile(name, src)
	more, warnings := Lint(&Set{
		New: docs, Published: published, Today: today, Principals: []string{"maria@acme.example", "joe@acme.example"},
	})
	var lines []string
	for _, f := range append(faults, more...) {
		lines = append(lines, f.String())
	}
	for _, w := range warnings {
		lines = append(lines, w.String())
	}
	return strings.Join(lines, "\n") + "\n"
}

// golden compares a text with the file that keeps it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file) //nolint:gosec // a file of the tests' own folder
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got, -update writes it anew):\n%s", file, diff)
	}
}

// sampled lists the documents of one of the folders.
func sampled(t *testing.T, folder string) []string {
	t.Helper()
	var names []string
	for _, pattern := range []string{"*.yaml", "*.json"} {
		found, err := filepath.Glob(filepath.Join("testdata", folder, pattern))
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, found...)
	}
	if len(names) == 0 {
		t.Fatalf("no documents under testdata/%s", folder)
	}
	for i := range names {
		names[i] = strings.TrimPrefix(filepath.ToSlash(names[i]), "testdata/")
	}
	return names
}

// examples are the documents that everything else refers to.
func examples(t *testing.T) []Document {
	t.Helper()
	src, err := os.ReadFile("testdata/good/bills.yaml")
	if err != nil {
		t.Fatal(err)
	}
	docs, faults := DecodeFile("good/bills.yaml", src)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	return docs
}

// Every document that is refused, or warned of, is so with exactly the words of
// its golden file: place, pointer, reason and hint.
//
// Proves: I11, I12, I13a, I27, I30, M11a, M12, M13, M15, M27a
func TestWhatDocumentsAreTold(t *testing.T) {
	t.Parallel()
	published := examples(t)
	for _, folder := range []string{"bad", "later", "warn"} {
		for _, name := range sampled(t, folder) {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				got := verdict(t, name, published)
				golden(t, strings.TrimSuffix(name, filepath.Ext(name))+".golden", got)
				lines := strings.Split(strings.TrimSpace(got), "\n")
				faulty := strings.Count(got, ": warning: ") < len(lines)
				for _, line := range lines {
					if !strings.HasPrefix(line, name+":") {
						t.Errorf("no place: %q", line)
					}
				}
				for _, line := range lines {
					warning, later := strings.Contains(line, ": warning: "), strings.Contains(line, ": not_supported_yet: ")
					if folder == "warn" && !warning || folder != "warn" && !faulty || later != (folder == "later") {
						t.Errorf("does not belong into %s: %q", folder, line)
					}
				}
			})
		}
	}
}

// The documents that the specification shows, and others that use what it
// allows, load as one folder without a fault.
func TestGoodDocumentsLoad(t *testing.T) {
	t.Parallel()
	docs, faults := DecodeDir(os.DirFS(filepath.Join("testdata", "good")))
	more, warnings := Lint(&Set{New: docs, Today: today, Principals: []string{"maria@acme.example", "joe@acme.example"}})
	for _, f := range append(faults, more...) {
		t.Error(f)
	}
	lines := make([]string, 0, len(warnings)+len(docs))
	for i := range docs {
		lines = append(lines, string(docs[i].Kind)+" "+handle(&docs[i])+" at "+docs[i].At("").String())
	}
	for _, w := range warnings {
		lines = append(lines, w.String())
	}
	golden(t, "good/all.golden", strings.Join(lines, "\n")+"\n")
}
