package identity_test

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/onefold-dev/onefold/identity"
)

// fingerprintVectors is the shape of testdata/fingerprint*.json, which other
// languages can use as it is.
type fingerprintVectors struct {
	Defaults fingerprintCase   `json:"defaults"`
	Cases    []fingerprintCase `json:"cases"`
}

type fingerprintCase struct {
	Name            string          `json:"name"`
	Secret          *string         `json:"secret"`
	Workspace       *string         `json:"workspace"`
	Capability      *string         `json:"capability"`
	Connection      *string         `json:"connection"`
	ContractVersion *int            `json:"contract_version"`
	Compare         json.RawMessage `json:"compare"`
	Request         string          `json:"request"`
	RequestHex      string          `json:"request_hex"`
	Canonical       string          `json:"canonical"`
	Fingerprint     string          `json:"fingerprint"`
	Refused         string          `json:"refused"`
	Pointer         *string         `json:"pointer"` // of the refusal, in our own cases
}

func pick[T any](own, fallback *T) T {
	if own != nil {
		return *own
	}
	return *fallback
}

func readVectors[T any](t *testing.T, name string) T {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var vectors T
	if err := json.Unmarshal(text, &vectors); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return vectors
}

func (c fingerprintCase) body(t *testing.T) []byte {
	t.Helper()
	if c.RequestHex == "" {
		return []byte(c.Request)
	}
	body, err := hex.DecodeString(c.RequestHex)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// normalized parses and normalizes a case's request.
func (c fingerprintCase) normalized(t *testing.T) (*identity.Value, error) {
	t.Helper()
	var rules *identity.Rules
	if c.Compare != nil {
		rules = mustRules(t, string(c.Compare))
	}
	request, err := identity.Parse(c.body(t), identity.Limits{})
	if err != nil {
		return nil, err
	}
	return rules.Normalize(request)
}

// Proves: I8, I9, I10, I11, I11a, I14
func TestFingerprintVectors(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"fingerprint.json", "fingerprint-more.json"} {
		vectors := readVectors[fingerprintVectors](t, file)
		if len(vectors.Cases) == 0 {
			t.Fatalf("%s holds no cases", file)
		}
		for _, c := range vectors.Cases {
			t.Run(file+"/"+c.Name, func(t *testing.T) {
				t.Parallel()
				checkFingerprint(t, c, vectors.Defaults)
			})
		}
	}
}

func checkFingerprint(t *testing.T, c, defaults fingerprintCase) {
	t.Helper()
	request, err := c.normalized(t)
	if c.Refused != "" {
		if err == nil {
			t.Fatalf("accepted as %s, should be refused: %s", identity.Canonical(request), c.Refused)
		}
		if c.Pointer != nil && pointerIn(err) != *c.Pointer {
			t.Errorf("refused with %v, the pointer should be %q", err, *c.Pointer)
		}
		return
	}
	if err != nil {
		t.Fatalf("refused: %v", err)
	}
	if got := string(identity.Canonical(request)); got != c.Canonical {
		t.Errorf("canonical form\n got %s\nwant %s", got, c.Canonical)
	}
	secret := []byte(pick(c.Secret, defaults.Secret))
	intent := identity.Intent{
		Workspace:       pick(c.Workspace, defaults.Workspace),
		Capability:      pick(c.Capability, defaults.Capability),
		Connection:      pick(c.Connection, defaults.Connection),
		ContractVersion: pick(c.ContractVersion, defaults.ContractVersion),
		Request:         request,
	}
	if got := identity.Fingerprint(secret, intent); got != c.Fingerprint {
		t.Errorf("fingerprint\n got %s\nwant %s", got, c.Fingerprint)
	}
}

type identityVectors struct {
	Cases []struct {
		Name       string `json:"name"`
		Deployment string `json:"deployment"`
		Workspace  string `json:"workspace"`
		Capability string `json:"capability"`
		Connection string `json:"connection"`
		Key        string `json:"key"`
		Purpose    string `json:"purpose"`
		Counter    int    `json:"counter"`
		Format     struct {
			Max         int    `json:"max"`
			Alphabet    string `json:"alphabet"`
			UUIDVersion int    `json:"uuid_version"`
		} `json:"format"`
		Value string `json:"value"`
	} `json:"cases"`
}

// Proves: M1, I13a, I14
func TestIdentityVectors(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"identity.json", "identity-more.json"} {
		vectors := readVectors[identityVectors](t, file)
		if len(vectors.Cases) == 0 {
			t.Fatalf("%s holds no cases", file)
		}
		for _, c := range vectors.Cases {
			seed := identity.Seed{
				Deployment: c.Deployment, Workspace: c.Workspace, Capability: c.Capability,
				Connection: c.Connection, Key: c.Key, Purpose: identity.Purpose(c.Purpose), Counter: c.Counter,
			}
			format := identity.Format{Max: c.Format.Max, Alphabet: c.Format.Alphabet, UUIDVersion: c.Format.UUIDVersion}
			if err := format.Validate(); err != nil {
				t.Errorf("%s: %v", c.Name, err)
			}
			if got := identity.Derive(seed, format); got != c.Value {
				t.Errorf("%s/%s: got %s, want %s", file, c.Name, got, c.Value)
			}
		}
	}
}
