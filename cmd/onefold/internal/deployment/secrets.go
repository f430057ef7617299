package deployment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/contract"
	"github.com/onefold-dev/onefold/internal/secret"
)

const (
	// secretsEvery is how often a running node looks whether its connections'
	// secrets are there: soon enough for whoever puts a file into its place and
	// waits, and some reads of small files.
	secretsEvery = 5 * time.Second
	// toldSecrets bounds how many missing secrets the log lists at once, namedSecrets
	// how many the log of a probe names.
	toldSecrets  = 50
	namedSecrets = 3
)

// NamedSecret is a secret that a connection's document names.
type NamedSecret struct {
	Workspace, Connection string
	// Name is its name in the document, Reference what stands there.
	Name, Reference string
}

// String names the secret without its reference.
func (s NamedSecret) String() string {
	return s.Workspace + "/" + s.Connection + " " + s.Name
}

// FromFile tells whether it lies in a file, and not in an environment.
func (s NamedSecret) FromFile() bool { return strings.HasPrefix(s.Reference, "file:") }

// MissingSecret is a named secret that cannot be had. Nothing of it is a value.
type MissingSecret struct {
	NamedSecret
	// Why names the reference and says what is the matter.
	Why string
	// Err is what the resolver said.
	Err error
}

// Do says how it is mended.
func (m MissingSecret) Do() string {
	if m.FromFile() {
		return "put the file into its place below the secrets folder: it is read at its next use"
	}
	return "set the variable in the environment of the process that carries operations out, and start it anew"
}

// SecretsOf lists the secrets that enabled connections name, in order. A
// connection that is disabled sends nothing and needs none.
func SecretsOf(connections []*contract.Connection) []NamedSecret {
	var out []NamedSecret
	for _, c := range connections {
		if c.Mode == onefold.ModeDisabled {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(c.Secrets)) {
			out = append(out, NamedSecret{c.Workspace, c.Name, name, c.Secrets[name]})
		}
	}
	slices.SortStableFunc(out, func(a, b NamedSecret) int {
		return cmp.Or(cmp.Compare(a.Workspace, b.Workspace), cmp.Compare(a.Connection, b.Connection))
	})
	return out
}

// MissingSecrets tells which of the named secrets cannot be had now. It reads
// each and keeps none. When ctx is over it says so, with what it found.
func MissingSecrets(ctx context.Context, r *secret.Resolver, named []NamedSecret) ([]MissingSecret, error) {
	var missing []MissingSecret
	for _, s := range named {
		_, err := r.Value(ctx, s.Workspace, s.Reference)
		if ctx.Err() != nil {
			return missing, ctx.Err()
		}
		if err != nil {
			missing = append(missing, MissingSecret{s, secret.Why(s.Workspace, s.Reference, err), err})
		}
	}
	return missing, nil
}

// lookForSecrets looks which secrets are missing and tells the log what changed.
// A node without a runner resolves no secrets and needs none: they are the
// worker's.
func (n *Node) lookForSecrets(ctx context.Context) {
	if n.resolver == nil {
		return
	}
	missing, err := MissingSecrets(ctx, n.resolver, SecretsOf(n.registry.AllConnections()))
	if err != nil {
		return // the node ends
	}
	var before []MissingSecret
	if known := n.missing.Swap(&missing); known != nil {
		before = *known
	}
	told := 0
	for _, m := range missing {
		if !slices.ContainsFunc(before, func(b MissingSecret) bool { return b.NamedSecret == m.NamedSecret && b.Why == m.Why }) {
			if told++; told <= toldSecrets {
				n.options.Log.Warn("a secret is missing: nothing is sent over its connection, which the first try pauses",
					"workspace", m.Workspace, "connection", m.Connection, "secret", m.Name, "why", m.Why, "do", m.Do()+"; then: onefold connections resume "+m.Connection)
			}
		}
	}
	if told > toldSecrets {
		n.options.Log.Warn("more secrets are missing than are listed here", "missing", len(missing))
	}
	for _, b := range before {
		if !slices.ContainsFunc(missing, func(m MissingSecret) bool { return b.NamedSecret == m.NamedSecret }) {
			n.options.Log.Info("a secret is missing no more", "workspace", b.Workspace, "connection", b.Connection, "secret", b.Name)
		}
	}
}

// keepLooking looks for secrets now and then, and as soon as documents are new.
func (n *Node) keepLooking(ctx context.Context) {
	if n.resolver == nil {
		return
	}
	ticker := time.NewTicker(reloadEvery)
	defer ticker.Stop()
	looked, revision := time.Duration(0), n.documents.Revision()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now := n.documents.Revision()
		if looked += reloadEvery; looked >= secretsEvery || now != revision {
			n.lookForSecrets(ctx)
			looked, revision = 0, now
		}
	}
}

// ready is what /readyz asks for beside the store: that no secret is missing. It
// tells what the last look found and looks at nothing itself, so that whoever
// probes costs no disk. Its text is for the log alone: it names connections of
// every workspace.
func (n *Node) ready(context.Context) error {
	missing := n.missing.Load()
	if missing == nil || len(*missing) == 0 {
		return nil
	}
	var named []string
	for _, m := range (*missing)[:min(namedSecrets, len(*missing))] {
		named = append(named, m.String()+" ("+m.Why+")")
	}
	text := strings.Join(named, ", ")
	if more := len(*missing) - len(named); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return errors.New("secrets are missing: " + text)
}
