package cli

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/onefold-dev/onefold/cmd/onefold/internal/deployment"
)

// run runs a command line in this process and returns how it ended.
func run(stdin string, env map[string]string, args ...string) (code int, stdout, stderr string) {
	var out, errOut bytes.Buffer
	p := Process{
		Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &errOut, Now: time.Now, IDs: deployment.IDs{},
		LookupEnv: func(name string) (string, bool) { value, ok := env[name]; return value, ok },
	}
	code = Main(context.Background(), p, args)
	return code, out.String(), errOut.String()
}

// vector is one case of the public vector file.
type vector struct {
	Name            string          `json:"name"`
	Secret          string          `json:"secret"`
	Workspace       string          `json:"workspace"`
	Capability      string          `json:"capability"`
	ContractVersion int             `json:"contract_version"`
	Connection      string          `json:"connection"`
	Compare         json.RawMessage `json:"compare"`
	Request         string          `json:"request"`
	RequestHex      string          `json:"request_hex"`
	Canonical       string          `json:"canonical"`
	Fingerprint     string          `json:"fingerprint"`
	Refused         string          `json:"refused"`
}

// The command agrees with every public vector: canonical form and fingerprint, or
// a problem with its place and exit code 3.
//
// Proves: I14
func TestFingerprintAgreesWithTheVectors(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../../identity/testdata/fingerprint.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Defaults json.RawMessage   `json:"defaults"`
		Cases    []json.RawMessage `json:"cases"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Cases) < 60 {
		t.Fatalf("only %d cases", len(file.Cases))
	}
	for _, raw := range file.Cases {
		var v vector
		for _, part := range []json.RawMessage{file.Defaults, raw} {
			if err := json.Unmarshal(part, &v); err != nil {
				t.Fatal(err)
			}
		}
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()
			checkVector(t, &v)
		})
	}
}

func checkVector(t *testing.T, v *vector) {
	t.Helper()
	document := map[string]any{"kind": "capability", "name": v.Capability, "version": v.ContractVersion, "request": true}
	if v.Compare != nil {
		document["compare"] = v.Compare
	}
	text, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "capability.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	request := v.Request
	if v.RequestHex != "" {
		raw, err := hex.DecodeString(v.RequestHex)
		if err != nil {
			t.Fatal(err)
		}
		request = string(raw)
	}
	code, stdout, stderr := run(request, map[string]string{"S": v.Secret},
		"fingerprint", "-f", path, "--workspace", v.Workspace, "--connection", v.Connection, "--secret", "env:S", "-", "--output", "json")
	if v.Refused != "" {
		var problem map[string]any
		if json.Unmarshal([]byte(stderr), &problem) != nil || code != ExitRefused || stdout != "" || problem["pointer"] == nil || problem["offset"] == nil {
			t.Errorf("exit code %d, %q, %q", code, stdout, stderr)
		}
		return
	}
	var answer struct {
		Canonical, Fingerprint string
		Identities             map[string]any
	}
	if err := json.Unmarshal([]byte(stdout), &answer); err != nil || code != ExitDone || answer.Identities == nil {
		t.Fatalf("exit code %d, %q, %q", code, stdout, stderr)
	}
	if answer.Canonical != v.Canonical || answer.Fingerprint != v.Fingerprint {
		t.Errorf("got %s %s\nwant %s %s", answer.Canonical, answer.Fingerprint, v.Canonical, v.Fingerprint)
	}
}
