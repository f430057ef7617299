package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// patience is how long anything may take that a test waits for: far above what
// it takes on a busy machine, and only a test that fails ever waits so long.
const patience = 60 * time.Second

// binaryFolder names the folder of the binary that is tested: the real one, built
// once for all tests.
const binaryFolder = "ONEFOLD_TEST_BINARY_FOLDER"

func TestMain(m *testing.M) {
	folder, err := os.MkdirTemp("", "onefold-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := 1
	build := exec.CommandContext(context.Background(), "go", "build", "-o", filepath.Join(folder, "onefold"), ".")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
	} else if err := os.Setenv(binaryFolder, folder); err == nil {
		code = m.Run()
	}
	_ = os.RemoveAll(folder)
	os.Exit(code)
}

// TestScripts runs the stories of testdata/script against the real binary. Each
// script says in its first line which rules it proves, if it proves any.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		Setup:               setUp,
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits": exits, "eventually": eventually, "start": start, "signal": stop,
			"json": checkJSON, "setjson": setJSON, "get": get, "post": post,
			"full": full, "leaves": leaves, "unshown": unshown,
		},
	})
}

// setUp gives a script the binary, a secret, and the example documents in docs/.
func setUp(e *testscript.Env) error {
	e.Setenv("PATH", os.Getenv(binaryFolder)+string(os.PathListSeparator)+e.Getenv("PATH"))
	e.Setenv("TEST_SECRET", "a secret of this test alone")
	e.Setenv("ONEFOLD_SECRET", "env:TEST_SECRET")
	e.Values[processes] = &group{running: map[string]*process{}}
	e.Defer(e.Values[processes].(*group).killAll)
	for _, folder := range []string{"docs", "secrets/acme"} {
		if err := os.MkdirAll(filepath.Join(e.WorkDir, folder), 0o700); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(e.WorkDir, "secrets/acme/erp-token"), []byte("erp-token\n"), 0o600); err != nil {
		return err
	}
	names, err := filepath.Glob("examples/*.yaml")
	if err != nil {
		return err
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(e.WorkDir, "docs", filepath.Base(name)), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}
