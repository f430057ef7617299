package deployment

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/identity"
	"github.com/onefold-dev/onefold/internal/secret"
)

// MinSecret is the least length of the deployment's secret in bytes: a shorter
// one can be found by trying, and with it what is in a fingerprint.
const MinSecret = 16

// Secret is the deployment's secret with what is derived from it.
type Secret struct {
	bytes []byte
	// ID names it beside each fingerprint, Check recognises it (I8).
	ID, Check string
}

// NewSecret takes the bytes of a deployment's secret, at least MinSecret of them.
func NewSecret(b []byte) (Secret, error) {
	if len(b) < MinSecret {
		return Secret{}, fmt.Errorf("the secret has %d bytes; at least %d are needed", len(b), MinSecret)
	}
	check := identity.KeyCheck(b)
	return Secret{bytes: b, Check: check, ID: "k" + check[len("v1:"):len("v1:")+8]}, nil
}

// ResolveSecret reads the secret behind a reference, env:NAME or file:PATH.
func ResolveSecret(ctx context.Context, ref string, lookup func(string) (string, bool)) ([]byte, error) {
	r := secret.Resolver{Folder: ".", LookupEnv: lookup}
	v, err := r.Deployment(ctx, ref)
	if err != nil {
		return nil, err
	}
	return v.Reveal(), nil
}

// digestKey keys the digests of credentials; it is derived, so that neither
// digest nor fingerprint says anything about the other.
func (s Secret) digestKey() []byte {
	mac := hmac.New(sha256.New, s.bytes)
	_, _ = mac.Write([]byte("onefold credential digest v1")) // a hash takes whatever is written to it
	return mac.Sum(nil)
}

// settle compares the secret with what the database was used with, and remembers it.
// A database with fingerprints of another secret is refused: every repeat would look
// like a conflict (I8). Which secrets made them stands in two places: as check values,
// and as ids beside the fingerprints themselves. An id without a check value means
// that the check values were lost, and is refused, unless it is the given secret's:
// the id is the beginning of the check value, and proves as much.
func (s Secret) settle(ctx context.Context, store onefold.Store) (onefold.Installation, error) {
	installation, err := store.Installation(ctx)
	if err != nil {
		return installation, err
	}
	for _, id := range Unchecked(installation, installation.KeyIDs) {
		if id != s.ID {
			return installation, &onefold.Error{
				Code:    onefold.CodeStoreUnavailable,
				Message: "the database has fingerprints made under the secret " + id + ", and lost by what to recognise it; the one that was given is " + s.ID,
				Hint:    "give the secret " + id + ", or restore the last good backup: something has deleted from the database, and onefold doctor says what else is missing",
			}
		}
	}
	for id, check := range installation.Secrets {
		if check != s.Check {
			return installation, &onefold.Error{
				Code:    onefold.CodeStoreUnavailable,
				Message: "the database has fingerprints made under the secret " + id + ", which is not the one that was given",
				Hint:    "give the secret that this database was used with; under another one every repeated key would look like a conflict",
			}
		}
	}
	if len(installation.Secrets) > 0 {
		return installation, nil
	}
	if err := store.RememberSecret(ctx, s.ID, s.Check); err != nil && !errors.Is(err, onefold.ErrCommitUnknown) {
		return installation, fmt.Errorf("remember which secret is in use: %w", err)
	}
	return installation, nil
}

// Unchecked are those of the ids of secrets of which an installation has no check
// value (I8).
func Unchecked(i onefold.Installation, ids []string) []string {
	var out []string
	for _, id := range ids {
		if _, checked := i.Secrets[id]; !checked {
			out = append(out, id)
		}
	}
	return out
}
