package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/onefold-dev/onefold"
)

// page is where the generated page lies, below the module's root.
const page = "docs/reference/states.md"

// errDrift says that the page is not what would be written now.
var errDrift = errors.New(page + " is out of date: run make generate and commit it")

func main() {
	check := flag.Bool("check", false, "write nothing; fail if the page is out of date")
	flag.Parse()
	if err := run(*check); err != nil {
		fmt.Fprintln(os.Stderr, "lawpage:", err)
		os.Exit(1)
	}
}

// run writes the page of the module around the working folder, or checks it.
func run(check bool) error {
	file, err := pageFile()
	if err != nil {
		return err
	}
	text, err := render(onefold.Transitions())
	if err != nil {
		return err
	}
	if check {
		return compare(file, text)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o644)
}

// pageFile finds the page's place: below the folder with go.mod, the working
// folder or one above it.
func pageFile() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(dir, filepath.FromSlash(page)), nil
		}
		above := filepath.Dir(dir)
		if above == dir {
			return "", errors.New("no go.mod here or above")
		}
		dir = above
	}
}

// compare says errDrift if the file does not hold the text.
func compare(file string, text []byte) error {
	old, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("%w (%w)", errDrift, err)
	}
	if !bytes.Equal(old, text) {
		return errDrift
	}
	return nil
}
