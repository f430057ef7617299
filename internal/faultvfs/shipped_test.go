package faultvfs_test

import (
	"os/exec"
	"strings"
	"testing"
)

// The engine of these tests is not the binary's: nothing that is shipped imports it.
func TestNothingShippedImportsIt(t *testing.T) {
	t.Parallel()
	for _, tags := range []string{"", "failpoint"} {
		out, err := exec.Command("go", "list", "-tags", tags, "-deps", "github.com/onefold-dev/onefold/cmd/onefold").Output() //nolint:gosec // fixed words
		if err != nil {
			t.Fatal(err)
		}
		deps := string(out)
		if !strings.Contains(deps, "modernc.org/sqlite") {
			t.Fatal("the binary imports no SQLite: nothing was checked")
		}
		for _, not := range []string{"ncruces/go-sqlite3", "internal/faultvfs", "internal/rig"} {
			if strings.Contains(deps, not) {
				t.Errorf("the binary imports %s", not)
			}
		}
	}
}
