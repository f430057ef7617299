package examples_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// guide is the page whose snippets are held against code that is compiled and run.
const guide = "../docs/how-to/embed.md"

// block is a code block of a page.
var block = regexp.MustCompile("(?ms)^```(\\w+)\\n(.*?)^```$")

// sources reads the files from which a guide may quote, by their ending.
func sources(t *testing.T) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	add := func(path string) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		kind := strings.TrimPrefix(filepath.Ext(path), ".")
		out[kind] = append(out[kind], string(text))
	}
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			add(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	examples, err := filepath.Glob("../example_*_test.go")
	if err != nil || len(examples) == 0 {
		t.Fatalf("%v, %d example files", err, len(examples))
	}
	for _, path := range examples {
		add(path)
	}
	return out
}

// Every snippet of the guide stands word for word in a program or an example that
// is compiled and run.
func TestTheGuidesSnippetsAreRealCode(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	code := sources(t)
	held := map[string]int{}
	for _, found := range block.FindAllStringSubmatch(string(page), -1) {
		kind, snippet := found[1], found[2]
		if kind == "sh" {
			continue // commands of a shell, which TestTheGuidesCommandsNameProgramsThatExist reads
		}
		held[kind]++
		known := false
		for _, source := range code[kind] {
			known = known || strings.Contains(source, snippet)
		}
		if !known {
			t.Errorf("no compiled file holds this %s snippet:\n%s", kind, snippet)
		}
	}
	if held["go"] < 5 || held["yaml"] < 1 {
		t.Errorf("snippets held: %v", held)
	}
}

var runs = regexp.MustCompile(`go run \./(\S+)`)

func TestTheGuidesCommandsNameProgramsThatExist(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	found := runs.FindAllStringSubmatch(string(page), -1)
	if len(found) < 3 {
		t.Fatalf("the guide runs %d programs", len(found))
	}
	for _, f := range found {
		if _, err := os.Stat(filepath.Join("..", f[1], "main.go")); err != nil {
			t.Errorf("%s: %v", f[0], err)
		}
	}
}
