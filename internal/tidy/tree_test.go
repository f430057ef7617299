package tidy

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sort"
	"strings"
	"testing"
)

// modulePath is what every import of this module begins with.
const modulePath = "github.com/onefold-dev/onefold"

// maxTextBytes is the size above which a file is taken for data and not read
// as text: no source or page of this module comes near it.
const maxTextBytes = 1 << 20

// tree is the module as the checks see it: every text file, and the Go files
// parsed, with paths relative to the module's root and with forward slashes.
type tree struct {
	fset  *token.FileSet
	files []*file
}

// file is one text file of the tree. syntax is nil for what is not Go and for
// what lies in a testdata folder.
type file struct {
	path   string
	text   string
	syntax *ast.File
}

// finding is one breach of a rule: where it is and what is wrong.
type finding struct {
	path string
	line int
	what string
}

func (f finding) String() string { return fmt.Sprintf("%s:%d: %s", f.path, f.line, f.what) }

// dir is the folder of the file, "." for the root.
func (f *file) dir() string { return path.Dir(f.path) }

// isTest says whether the file is compiled into tests only.
func (f *file) isTest() bool { return strings.HasSuffix(f.path, "_test.go") }

// isGenerated says whether a generator wrote the file: its shape is not ours.
func (f *file) isGenerated() bool { return f.syntax != nil && ast.IsGenerated(f.syntax) }

// inTestdata says whether the file is input or expected output of a test.
func (f *file) inTestdata() bool {
	return strings.HasPrefix(f.path, "testdata/") || strings.Contains(f.path, "/testdata/")
}

// lines is the number of lines of the file.
func (f *file) lines() int {
	n := strings.Count(f.text, "\n")
	if f.text != "" && !strings.HasSuffix(f.text, "\n") {
		n++
	}
	return n
}

// goFiles are the parsed files, in order of path.
func (t *tree) goFiles() []*file {
	var out []*file
	for _, f := range t.files {
		if f.syntax != nil {
			out = append(out, f)
		}
	}
	return out
}

// packages groups the parsed files by folder.
func (t *tree) packages() map[string][]*file {
	out := map[string][]*file{}
	for _, f := range t.goFiles() {
		out[f.dir()] = append(out[f.dir()], f)
	}
	return out
}

// at makes a finding at a place in a parsed file.
func (t *tree) at(f *file, pos token.Pos, format string, args ...any) finding {
	return finding{path: f.path, line: t.fset.Position(pos).Line, what: fmt.Sprintf(format, args...)}
}

// newTree parses sources given as path → text. A Go file that does not parse
// is an error: no check could say anything about it.
func newTree(sources map[string]string) (*tree, error) {
	t := &tree{fset: token.NewFileSet()}
	for name, text := range sources {
		f := &file{path: name, text: text}
		if strings.HasSuffix(name, ".go") && !f.inTestdata() {
			syntax, err := parser.ParseFile(t.fset, name, text, parser.ParseComments)
			if err != nil {
				return nil, fmt.Errorf("parse: %w", err)
			}
			f.syntax = syntax
		}
		t.files = append(t.files, f)
	}
	sort.Slice(t.files, func(i, j int) bool { return t.files[i].path < t.files[j].path })
	return t, nil
}

// readSources reads every text file below root. Folders that begin with a dot
// are left out but for the continuous-integration scripts, and so is the
// folder that `onefold dev` makes and the pointer that stands for a folder of Git.
func readSources(root string) (map[string]string, error) {
	sources := map[string]string{}
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := entry.Name()
		if entry.IsDir() {
			hidden := strings.HasPrefix(base, ".") && base != ".ci" && base != ".github"
			if name != root && (hidden || base == "onefold-data") {
				return filepath.SkipDir
			}
			return nil
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil // removed while we were walking
		}
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() || info.Size() > maxTextBytes || base == "go.sum" || base == ".git" {
			return nil
		}
		text, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if strings.ContainsRune(string(text), 0) {
			return nil // not text
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		sources[filepath.ToSlash(rel)] = string(text)
		return nil
	})
	return sources, err
}

// moduleTree reads the module that this test belongs to.
func moduleTree(t *testing.T) *tree {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		t.Fatalf("the module's root is not where this test expects it: %v", err)
	}
	sources, err := readSources(root)
	if err != nil {
		t.Fatal(err)
	}
	tr, err := newTree(sources)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// importName is the name by which a file refers to an imported package, ""
// where the file does not import it.
func (f *file) importName(importPath string) string {
	for _, spec := range f.syntax.Imports {
		if strings.Trim(spec.Path.Value, `"`) != importPath {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		base := path.Base(importPath)
		if base == "v2" { // math/rand/v2 is still called rand
			base = path.Base(path.Dir(importPath))
		}
		return base
	}
	return ""
}
