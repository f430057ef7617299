package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/onefold-dev/onefold/api"
)

// document is where the document lies, below the module's root.
const document = "docs/reference/openapi.json"

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "openapidoc:", err)
		os.Exit(1)
	}
}

// run writes the document of the module around the working folder.
func run() error {
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	file := filepath.Join(root, filepath.FromSlash(document))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, api.OpenAPI("0"), 0o644)
}

// moduleRoot is the nearest folder above that holds go.mod.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("no go.mod above the working folder")
		}
		dir = parent
	}
}
