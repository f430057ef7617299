package deployment

import (
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/cmd/onefold/examples"
	"github.com/onefold-dev/onefold/contract"
)

// The name of a token is shown as who has acted: it is one line that reads as it
// stands, or the store's own.
//
// Proves: M26
func TestATokensNameIsOneVisibleLine(t *testing.T) {
	t.Parallel()
	a := Access{Database: Database{Path: filepath.Join(t.TempDir(), "a.db")}, Now: time.Now, IDs: IDs{}}
	store, err := a.Open(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	if _, err := store.CreateWorkspace(t.Context(), "acme"); err != nil {
		t.Fatal(err)
	}
	order := TokenOrder{Workspace: "acme", Roles: []onefold.Role{onefold.RoleRead}, Now: time.Now(), IDs: IDs{}, Random: rand.Reader}
	for _, name := range []string{" ", "a\nb", "a\rb", "a\x1b[31m", "a\u0085b", "a\u2028b", "\u202eeciv", "\u200b", "a\xff"} {
		order.Name = name
		if _, _, err := NewToken(t.Context(), store, order); !errors.Is(err, onefold.ErrMemberInvalid) {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{"finance lead", "zoë", "\u5c71\u7530"} {
		order.Name = name
		if _, token, err := NewToken(t.Context(), store, order); err != nil || token.Name != name {
			t.Errorf("%q: %q, %v", name, token.Name, err)
		}
	}
	kept, err := store.Tokens(t.Context(), "acme")
	if err != nil || len(kept) != 3 {
		t.Errorf("%d tokens were made, %v", len(kept), err)
	}
}

// Some publish one connection at the same time, two of them the same: each is told
// the revision under which its own text stands in the store.
func TestWhoPublishesAtOnceIsToldWhatWasStored(t *testing.T) {
	t.Parallel()
	a := Access{Database: Database{Path: filepath.Join(t.TempDir(), "a.db")}, Now: time.Now, IDs: IDs{}}
	store, err := a.Open(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	if _, err := store.CreateWorkspace(t.Context(), examples.Workspace); err != nil {
		t.Fatal(err)
	}
	publish := func(port int) ([]AppliedDocument, []contract.Document, error) {
		docs, err := ReadExamples(fmt.Sprintf("http://127.0.0.1:%d", port))
		if err != nil {
			return nil, nil, err
		}
		applied, _, err := Publish(t.Context(), store, Publication{Documents: docs, By: "test", Today: time.Now()})
		return applied, docs, err
	}
	if _, _, err := publish(1); err != nil {
		t.Fatal(err)
	}
	published := 0
	for round := range 6 {
		var group sync.WaitGroup
		told, texts, errs := make([][]AppliedDocument, 4), make([][]contract.Document, 4), make([]error, 4)
		for i := range told {
			group.Go(func() { told[i], texts[i], errs[i] = publish(100*(round+1) + min(i, 2)) })
		}
		group.Wait()
		have, err := store.AllDocuments(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i := range told {
			if errs[i] != nil {
				t.Fatal(errs[i])
			}
			for j, one := range told[i] {
				if !slices.ContainsFunc(have, func(d onefold.Document) bool {
					return d.Kind == string(one.Kind) && d.Workspace == one.Workspace && d.Name == one.Name && d.Version == one.Version &&
						string(d.Canonical) == string(texts[i][j].Canonical)
				}) {
					t.Errorf("round %d, %d: %s %s@%d is told, and stands there as something else", round, i, one.Kind, one.Name, one.Version)
				}
				if one.Change == Published {
					published++
				}
			}
		}
		connections := 0
		for _, d := range have {
			if d.Kind == string(contract.KindConnection) {
				connections++
			}
		}
		first := 0
		for i := range texts[0] {
			if texts[0][i].Kind == contract.KindConnection {
				first++
			}
		}
		if stored := connections - first; published != stored {
			t.Errorf("round %d: %d are told to be published, %d revisions were stored", round, published, stored)
		}
	}
}
