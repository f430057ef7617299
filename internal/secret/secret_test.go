package secret_test

import (
	"bytes"
	"context"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/onefold-dev/onefold/internal/secret"
)

const canary = "canary-7f3a"

// write makes a file and its folders below a secrets folder.
func write(t *testing.T, folder, name, content string) {
	t.Helper()
	path := filepath.Join(folder, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// link makes a symbolic link below a secrets folder.
func link(t *testing.T, folder, name, to string) {
	t.Helper()
	if err := os.Symlink(to, filepath.Join(folder, name)); err != nil {
		t.Fatal(err)
	}
}

// environment answers from a map, as the process's environment would.
func environment(entries map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		text, ok := entries[name]
		return text, ok
	}
}

// Two workspaces live in one secrets folder and one environment. Each reaches
// its own secrets and none of the other's, whichever way the reference is
// spelled and wherever links lead.
func TestAReferenceReachesOnlyItsOwnWorkspace(t *testing.T) {
	t.Parallel()
	folder, outside := t.TempDir(), t.TempDir()
	write(t, folder, "acme/token", "acme-token\n")
	write(t, folder, "acme/two-newlines", "v\n\n")
	write(t, folder, "acme/windows", "v\r\n")
	write(t, folder, "acme/empty", "\n")
	write(t, folder, "acme/deep/er/key", "deep")
	write(t, folder, "acme/huge", strings.Repeat("x", secret.MaxBytes+1))
	write(t, folder, "acme-eu/token", "acme-eu-token")
	write(t, folder, "globex/token", canary)
	write(t, outside, "token", canary)
	link(t, folder, "acme/inside", "deep/er/key")
	link(t, folder, "acme/inside-absolute", filepath.Join(folder, "acme/token"))
	link(t, folder, "acme/to-globex", "../globex/token")
	link(t, folder, "acme/to-folder", "../globex")
	link(t, folder, "acme/out", filepath.Join(outside, "token"))
	link(t, folder, "acme/dangling", "nowhere")
	link(t, folder, "initech", "globex")
	r := &secret.Resolver{Folder: folder, LookupEnv: environment(map[string]string{
		"ONEFOLD_S_ACME__TOKEN":    "from-env",
		"ONEFOLD_S_ACME__EMPTY":    "",
		"ONEFOLD_S_ACME_EU__TOKEN": "from-eu",
		"ONEFOLD_S_GLOBEX__TOKEN":  canary,
		"ONEFOLD_S_ACME__NEWLINE":  "kept\n",
		"ONEFOLD_SECRET":           canary,
		"HOME":                     canary,
	})}
	for _, c := range []struct {
		workspace, ref, want string
		err                  error
	}{
		{"acme", "env:ONEFOLD_S_ACME__TOKEN", "from-env", nil},
		{"acme-eu", "env:ONEFOLD_S_ACME_EU__TOKEN", "from-eu", nil},
		{"acme", "env:ONEFOLD_S_ACME__NEWLINE", "kept\n", nil},
		{"acme", "env:ONEFOLD_S_ACME__EMPTY", "", secret.ErrMissing},
		{"acme", "env:ONEFOLD_S_ACME__NONE", "", secret.ErrMissing},
		{"acme", "env:ONEFOLD_S_ACME__", "", secret.ErrForbidden},
		{"acme", "env:ONEFOLD_S_ACME_EU__TOKEN", "", secret.ErrForbidden},
		{"acme", "env:ONEFOLD_S_GLOBEX__TOKEN", "", secret.ErrForbidden},
		{"acme", "env:ONEFOLD_SECRET", "", secret.ErrForbidden},
		{"acme", "env:onefold_s_acme__token", "", secret.ErrForbidden},
		{"acme", "env:HOME", "", secret.ErrForbidden},
		{"acme", "env:", "", secret.ErrReference},
		{"acme", "env:A=B", "", secret.ErrReference},
		{"acme", "file:acme/token", "acme-token", nil},
		{"acme", "file:acme/two-newlines", "v\n", nil},
		{"acme", "file:acme/windows", "v", nil},
		{"acme", "file:acme/inside", "deep", nil},
		{"acme", "file:acme/inside-absolute", "acme-token", nil},
		{"acme", "file:" + folder + "/acme/token", "acme-token", nil},
		{"acme", "file:acme/deep/../token", "acme-token", nil},
		{"acme", "file:acme/empty", "", secret.ErrMissing},
		{"acme", "file:acme/huge", "", secret.ErrMissing},
		{"acme", "file:acme/deep", "", secret.ErrMissing},
		{"acme", "file:acme/none", "", secret.ErrMissing},
		{"acme", "file:acme/dangling", "", secret.ErrMissing},
		{"acme", "file:acme/to-globex", "", secret.ErrForbidden},
		{"acme", "file:acme/to-folder/token", "", secret.ErrForbidden},
		{"acme", "file:acme/out", "", secret.ErrForbidden},
		{"acme", "file:" + outside + "/token", "", secret.ErrForbidden},
		{"acme", "file:" + folder + "/globex/token", "", secret.ErrForbidden},
		{"acme", "file:acme/../globex/token", "", secret.ErrForbidden},
		{"acme", "file:acme-eu/token", "", secret.ErrForbidden},
		{"acme", "file:token", "", secret.ErrForbidden},
		{"acme", "file:acme", "", secret.ErrForbidden},
		{"acme", "file:", "", secret.ErrReference},
		{"initech", "file:initech/token", "", secret.ErrForbidden},
		{"acme", "store:token", "", secret.ErrUnsupported},
		{"acme", "vault:token", "", secret.ErrReference},
		{"acme", canary, "", secret.ErrReference},
		{"..", "file:../etc/passwd", "", secret.ErrForbidden},
		{"", "env:ONEFOLD_S___TOKEN", "", secret.ErrForbidden},
		{"ACME", "env:ONEFOLD_S_ACME__TOKEN", "", secret.ErrForbidden},
	} {
		got, err := r.Resolve(t.Context(), c.workspace, c.ref)
		if !errors.Is(err, c.err) || string(got) != c.want {
			t.Errorf("%s of %q: got %q, %v; want %q, %v", c.ref, c.workspace, got, err, c.want, c.err)
		}
		if err != nil && strings.Contains(err.Error(), canary) {
			t.Errorf("%s of %q: the error holds the value: %v", c.ref, c.workspace, err)
		}
	}
}

// The deployment's own secrets are not bound to a workspace; without a folder
// or an environment nothing is found, and a canceled caller gets nothing.
func TestTheDeploymentReachesItsOwn(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write(t, folder, "installation", "deployment-key\n")
	r := &secret.Resolver{Folder: folder, LookupEnv: environment(map[string]string{"ONEFOLD_KEY": "k"})}
	for ref, want := range map[string]string{
		"env:ONEFOLD_KEY": "k", "file:installation": "deployment-key", "file:" + folder + "/installation": "deployment-key",
	} {
		got, err := r.Deployment(t.Context(), ref)
		if err != nil || string(got.Reveal()) != want {
			t.Errorf("%s: got %q, %v; want %q", ref, got.Reveal(), err, want)
		}
	}
	var none secret.Resolver
	for _, ref := range []string{"env:ONEFOLD_KEY", "file:installation"} {
		if _, err := none.Deployment(t.Context(), ref); !errors.Is(err, secret.ErrMissing) {
			t.Errorf("%s without folder and environment: %v", ref, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Deployment(ctx, "env:ONEFOLD_KEY"); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}

// Why a reference gives nothing is said with the reference; of a text that is none
// of the workspace's, and of an error that is not ours, nothing is repeated.
func TestWhyAReferenceGivesNothing(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write(t, folder, "acme/empty", "\n")
	write(t, folder, "acme/huge", strings.Repeat("x", secret.MaxBytes+1))
	write(t, folder, "globex/token", canary)
	link(t, folder, "acme/out", "../globex/token")
	r := &secret.Resolver{Folder: folder, LookupEnv: environment(map[string]string{
		"ONEFOLD_S_ACME__EMPTY": "", "ONEFOLD_S_ACME__HUGE": strings.Repeat(canary, secret.MaxBytes),
	})}
	for ref, want := range map[string]string{
		"env:ONEFOLD_S_ACME__NONE":  "env:ONEFOLD_S_ACME__NONE is not set",
		"env:ONEFOLD_S_ACME__EMPTY": "env:ONEFOLD_S_ACME__EMPTY is empty",
		"env:ONEFOLD_S_ACME__HUGE":  "env:ONEFOLD_S_ACME__HUGE is longer than 65536 bytes",
		"file:acme/none":            "file:acme/none is not there",
		"file:acme/empty":           "file:acme/empty is empty",
		"file:acme/huge":            "file:acme/huge is longer than 65536 bytes",
		"file:acme/out":             "file:acme/out leads out of the workspace's folder",
		"file:acme":                 strange, "file:globex/" + canary: strange, "env:" + canary: strange, canary: strange, "": strange,
		"env:ONEFOLD_S_GLOBEX__" + canary: strange, "store:" + canary: strange,
	} {
		_, err := r.Resolve(t.Context(), "acme", ref)
		if got := secret.Why("acme", ref, err); err == nil || got != want {
			t.Errorf("%s: %q (%v), want %q", ref, got, err, want)
		}
	}
	var none secret.Resolver
	for ref, want := range map[string]string{
		"env:ONEFOLD_S_ACME__A": "env:ONEFOLD_S_ACME__A has no environment at hand",
		"file:acme/a":           "file:acme/a is in no folder: no secrets folder is set",
	} {
		_, err := none.Resolve(t.Context(), "acme", ref)
		if got := secret.Why("acme", ref, err); got != want || !errors.Is(err, secret.ErrMissing) {
			t.Errorf("%s: %q (%v), want %q", ref, got, err, want)
		}
	}
	if got := secret.Why("acme", "file:acme/a", errors.New(canary)); got != "file:acme/a gives none" {
		t.Errorf("somebody else's error: %q", got)
	}
}

// strange is what is said of a text that is no reference of the workspace.
const strange = "what stands in its place is no reference of this workspace"

// Whatever prints a value, alone or inside something else, prints ***.
func TestAValueNeverPrints(t *testing.T) {
	t.Parallel()
	v := secret.New([]byte(canary))
	type holder struct {
		Inner  secret.Value
		Ptr    *secret.Value
		hidden secret.Value
		Map    map[string]secret.Value
	}
	h := holder{Inner: v, Ptr: &v, hidden: v, Map: map[string]secret.Value{"k": v}}
	var printed bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t", "% x"} {
		fmt.Fprintf(&printed, verb+"\n", v)
		fmt.Fprintf(&printed, verb+"\n", &v)
		fmt.Fprintf(&printed, verb+"\n", h.Map)
	}
	for _, logger := range []*slog.Logger{slog.New(slog.NewTextHandler(&printed, nil)), slog.New(slog.NewJSONHandler(&printed, nil))} {
		logger.Info("value", "direct", v, "pointer", &v, "holder", h)
	}
	text, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	printed.Write(text)
	if err := gob.NewEncoder(&printed).Encode(v); err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(&printed, fmt.Errorf("wrapped: %v", v), v.String(), v.GoString())
	for _, form := range []string{canary, fmt.Sprintf("%x", canary), fmt.Sprintf("%X", canary), fmt.Sprintf("%v", []byte(canary))} {
		if strings.Contains(printed.String(), form) {
			t.Errorf("the value was printed as %q", form)
		}
	}
	if !strings.Contains(printed.String(), "***") {
		t.Error("nothing was printed at all")
	}
	if string(v.Reveal()) != canary {
		t.Error("a value that nobody can have back is no secret")
	}
}

// A value does not change under its holder.
func TestAValueIsACopy(t *testing.T) {
	t.Parallel()
	given := []byte("abc")
	v := secret.New(given)
	given[0] = 'x'
	v.Reveal()[1] = 'x'
	if string(v.Reveal()) != "abc" {
		t.Errorf("it became %q", v.Reveal())
	}
	if v.IsEmpty() || !(secret.Value{}).IsEmpty() {
		t.Error("empty is what holds nothing")
	}
}
