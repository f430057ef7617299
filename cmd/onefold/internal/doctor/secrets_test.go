package doctor_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/cmd/onefold/internal/deployment"
	"github.com/onefold-dev/onefold/cmd/onefold/internal/doctor"
	"github.com/onefold-dev/onefold/contract"
	"github.com/onefold-dev/onefold/storetest"
)

const canary = "canary-41aa"

// connect publishes a connection with the given secrets and mode, twice: the
// newest revision counts.
func (c *clinic) connect(secrets, mode string) {
	c.t.Helper()
	for _, line := range []string{"secrets: {old: env:ONEFOLD_S_ACME__OLD}", "secrets: " + secrets + "\nmode: " + mode} {
		docs, faults := contract.DecodeFile("c.yaml", []byte("kind: connection\nworkspace: "+storetest.Workspace+
			"\nname: acme-erp\ntarget: erp@1\nurl: https://erp.example\nowner: maria\n"+line+"\n"))
		if err := faults.Err(); err != nil {
			c.t.Fatal(err)
		}
		if _, err := c.store.Publish(context.Background(), deployment.ToStore(docs, "test")); err != nil {
			c.t.Fatal(err)
		}
	}
}

// TestMissingSecretsOfConnections: a file that is not there is missing for the
// server as well; a variable may be another's business; what nobody can look for
// is not called there.
func TestMissingSecretsOfConnections(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := os.MkdirAll(filepath.Join(folder, "acme"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "acme", "there"), []byte(canary), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		secrets, mode, folder string
		want                  doctor.Status
		found, do             string
	}{
		"a file that is there":          {"{a: file:acme/there}", "autonomous", folder, doctor.OK, "all 1 secrets", ""},
		"a variable that is set":        {"{a: env:ONEFOLD_S_ACME__SET}", "autonomous", "", doctor.OK, "as this process sees", ""},
		"a file that is not there":      {"{a: file:acme/none, b: env:ONEFOLD_S_ACME__NONE}", "autonomous", folder, doctor.Failed, "1 of 2 secrets that enabled connections name are missing: acme/acme-erp a (file:acme/none is not there)", "below the secrets folder"},
		"a variable that is not set":    {"{a: file:acme/there, b: env:ONEFOLD_S_ACME__NONE}", "approval", folder, doctor.Warning, "not in this process's environment: acme/acme-erp b (env:ONEFOLD_S_ACME__NONE is not set); the server's may be another", "with the environment that the server has"},
		"a folder that nobody names":    {"{a: file:acme/there}", "autonomous", "", doctor.NotChecked, "where is not known: acme/acme-erp a (file:acme/there)", "--secrets-dir"},
		"a connection that is disabled": {"{a: file:acme/none}", "disabled", folder, doctor.OK, "no enabled connection names a secret", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newClinic(t)
			h.connect(c.secrets, c.mode)
			h.options.SecretsFolder = c.folder
			h.options.LookupEnv = func(name string) (string, bool) { return canary, name == "ONEFOLD_S_ACME__SET" }
			found := h.finds(map[string]doctor.Status{"connection_secrets": c.want})["connection_secrets"]
			if !strings.Contains(found.Found, c.found) || !strings.Contains(found.Do, c.do) {
				t.Errorf("it says %s, and to do %s", found.Found, found.Do)
			}
			if strings.Contains(found.Found+found.Do, canary) {
				t.Errorf("the secret is told: %+v", found)
			}
		})
	}
	t.Run("documents of another release", func(t *testing.T) {
		t.Parallel()
		h := newClinic(t)
		doc := onefold.Document{Kind: "connection", Workspace: storetest.Workspace, Name: "x", Version: 1, Source: []byte("kind: odd"), Canonical: []byte("{}"), PublishedBy: "test"}
		if _, err := h.store.Publish(context.Background(), []onefold.Document{doc}); err != nil {
			t.Fatal(err)
		}
		if found := h.finds(failed("connection_secrets", "documents"))["connection_secrets"]; !strings.Contains(found.Found, "cannot be read") {
			t.Errorf("it says %s", found.Found)
		}
	})
}
