package main

import (
	"os"
	"strings"
	"testing"
)

// The page in the tree is what the commands say of themselves.
func TestThePageIsCurrent(t *testing.T) {
	t.Parallel()
	have, err := os.ReadFile("../../../../docs/reference/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != page() {
		t.Error("docs/reference/cli.md is out of date: go generate ./cmd/onefold")
	}
}

// Every command that the specification names has its section.
func TestEveryCommandIsThere(t *testing.T) {
	t.Parallel()
	text := page()
	for _, name := range strings.Fields("dev serve worker sandbox migrate apply schema render submit ops_list ops_show ops_timeline " +
		"ops_explain ops_cancel ops_retry ops_resolve ops_release ops_assign reviews connections_list connections_pause " +
		"connections_resume token_create token_list token_revoke workspace_create workspace_list fingerprint agreement version completion") {
		if !strings.Contains(text, "# onefold "+strings.ReplaceAll(name, "_", " ")+"\n") {
			t.Errorf("the page has no section for %s", name)
		}
	}
}
