package main

import (
	"strings"
	"testing"
)

// The page in the tree is what the commands say of themselves.
func TestThePageIsCurrent(t *testing.T) {
	t.Parallel()
	if err := commandLine().Check(); err != nil {
		t.Error(err)
	}
}

// Every command that the specification names has its section.
func TestEveryCommandIsThere(t *testing.T) {
	t.Parallel()
	text := render()
	for _, name := range strings.Fields("dev serve worker sandbox migrate apply schema render submit ops_list ops_show ops_timeline " +
		"ops_explain ops_cancel ops_retry ops_resolve ops_release ops_assign reviews connections_list connections_pause " +
		"connections_resume token_create token_list token_revoke workspace_create workspace_list fingerprint agreement version completion") {
		if !strings.Contains(text, "# onefold "+strings.ReplaceAll(name, "_", " ")+"\n") {
			t.Errorf("the page has no section for %s", name)
		}
	}
}
