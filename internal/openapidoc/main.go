package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/onefold-dev/onefold/api"
	"github.com/onefold-dev/onefold/internal/page"
)

// document is where the document lies, changelog what tells of its changes, below
// the module's root.
const (
	document  = "docs/reference/openapi.json"
	changelog = "CHANGELOG.md"
)

func main() {
	against := flag.String("against", "", "compare with this earlier document, and write nothing")
	flag.Parse()
	root, err := page.Root()
	if err == nil {
		err = run(root, *against, api.OpenAPI("0"), os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "openapidoc:", err)
		os.Exit(1)
	}
}

// run compares a document with the earlier one, tells the differences, and writes
// it unless it was only to be compared. Where something breaks untold it returns
// an error, and nothing is written.
func run(root, against string, now []byte, out io.Writer) error {
	file := filepath.Join(root, filepath.FromSlash(document))
	earlier := against
	if earlier == "" {
		earlier = file
	}
	old, err := os.ReadFile(earlier)
	switch {
	case errors.Is(err, fs.ErrNotExist) && against == "":
		old = []byte("{}") // the first document breaks nothing
	case err != nil:
		return err
	}
	found, err := compare(old, now)
	if err != nil {
		return err
	}
	for _, d := range found {
		kind := "    "
		if d.Breaking {
			kind = "!!! "
		}
		fmt.Fprintln(out, kind+d.String())
	}
	told, err := os.ReadFile(filepath.Join(root, changelog))
	if err != nil {
		return err
	}
	if untold := gate(found, string(told)); len(untold) > 0 {
		return refusal(untold)
	}
	if against != "" {
		return nil
	}
	return page.Write(root, document, now)
}
