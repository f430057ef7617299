package page

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// ErrDrift says that a page is not what would be written now.
var ErrDrift = errors.New("it is out of date: run make generate and commit it")

// Page is one generated page.
type Page struct {
	// Command is the name of the program that writes it, for messages.
	Command string
	// Path is where it lies below the module's root, with slashes.
	Path string
	// Render makes its text. root is the module's root folder.
	Render func(root string) ([]byte, error)
}

// Main is what the program does: it writes the page, or with -check compares it,
// and ends the process with 0, 1 for a failure (ErrDrift included), or 2 for wrong
// usage.
func (p Page) Main() { os.Exit(p.run(os.Args[1:], os.Stderr)) }

func (p Page) run(args []string, stderr io.Writer) int {
	flags := flag.NewFlagSet(p.Command, flag.ContinueOnError)
	flags.SetOutput(stderr)
	check := flags.Bool("check", false, "write nothing; fail if the page is out of date")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if flags.NArg() > 0 {
		fmt.Fprintf(stderr, "%s takes no argument\n", p.Command)
		return 2
	}
	act := p.Write
	if *check {
		act = p.Check
	}
	if err := act(); err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", p.Command, err)
		return 1
	}
	return 0
}

// Check returns ErrDrift, with the page's path, if the page in the tree is not
// what would be written now.
func (p Page) Check() error {
	root, text, err := p.render()
	if err != nil {
		return err
	}
	have, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(p.Path)))
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w (%w)", p.Path, ErrDrift, err)
	case !bytes.Equal(have, text):
		return fmt.Errorf("%s: %w", p.Path, ErrDrift)
	}
	return nil
}

// Write writes the page into the tree.
func (p Page) Write() error {
	root, text, err := p.render()
	if err != nil {
		return err
	}
	return Write(root, p.Path, text)
}

func (p Page) render() (root string, text []byte, err error) {
	if root, err = Root(); err != nil {
		return "", nil, err
	}
	text, err = p.Render(root)
	return root, text, err
}

// Write writes a text to a path below the module's root, with its folder.
func Write(root, path string, text []byte) error {
	file := filepath.Join(root, filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil { //nolint:gosec // a folder of pages for everybody to read
		return err
	}
	// Beside it and then into its place, so that nobody finds half a page.
	fresh := file + ".new"
	if err := os.WriteFile(fresh, text, 0o644); err != nil { //nolint:gosec // a page for everybody to read
		return err
	}
	return os.Rename(fresh, file)
}

// Root is the module's root: the folder with go.mod, the working folder or the
// nearest one above it.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		above := filepath.Dir(dir)
		if above == dir {
			return "", errors.New("there is no go.mod here or above")
		}
		dir = above
	}
}
