package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/onefold-dev/onefold"
)

func principalStories() []story {
	return []story{
		{"workspaces are made once", workspacesMade},
		{"tokens are found by their digest alone", tokensFound},
		{"a token's use is written at most once a minute", tokenTouched},
		{"secrets are remembered once", secretsRemembered},
	}
}

func workspacesMade(t *testing.T, s *Subject) {
	ctx := context.Background()
	made, err := s.Store.CreateWorkspace(ctx, "b")
	noError(t, err)
	_, err = s.Store.CreateWorkspace(ctx, "a")
	noError(t, err)
	_, err = s.Store.CreateWorkspace(ctx, "b")
	wantError(t, err, onefold.ErrWorkspaceExists)
	all, err := s.Store.Workspaces(ctx)
	noError(t, err)
	if diff := cmp.Diff([]onefold.Workspace{{Name: "a", CreatedAt: s.Clock.Now()}, made}, all); diff != "" {
		t.Errorf("the workspaces differ:\n%s", diff)
	}
}

// Proves: I5
func tokensFound(t *testing.T, s *Subject) {
	ctx := context.Background()
	expires := s.Clock.Now().Add(time.Hour)
	token := func(hash, workspace string) onefold.Token {
		return onefold.Token{
			ID: s.IDs.New(onefold.PrefixToken, s.Clock.Now()), Hash: hash, Workspace: workspace, Name: "ada",
			Roles: []onefold.Role{onefold.RoleSubmit, onefold.RoleEvidence}, Connections: []string{"books"},
			CreatedAt: s.Clock.Now(), ExpiresAt: &expires,
		}
	}
	wantError(t, s.Store.CreateToken(ctx, token("h0", "acme")), onefold.ErrWorkspaceUnknown)
	for _, w := range []string{"acme", "umbrella"} {
		_, err := s.Store.CreateWorkspace(ctx, w)
		noError(t, err)
	}
	ours, theirs := token("h1", "acme"), token("h2", "umbrella")
	theirs.ExpiresAt, theirs.Connections = nil, nil
	noError(t, s.Store.CreateToken(ctx, ours))
	noError(t, s.Store.CreateToken(ctx, theirs))
	if err := s.Store.CreateToken(ctx, token("h1", "umbrella")); err == nil {
		t.Error("two tokens have one secret")
	}
	for _, want := range []onefold.Token{ours, theirs} {
		got, found, err := s.Store.TokenByHash(ctx, want.Hash)
		noError(t, err)
		if diff := cmp.Diff(want, got); diff != "" || !found {
			t.Errorf("the token differs (-made +found):\n%s", diff)
		}
	}
	if _, found, err := s.Store.TokenByHash(ctx, "H1"); err != nil || found {
		t.Errorf("found %v, error %v", found, err)
	}
	list, err := s.Store.Tokens(ctx, "acme")
	noError(t, err)
	if diff := cmp.Diff([]onefold.Token{ours}, list); diff != "" {
		t.Errorf("the list differs:\n%s", diff)
	}
	wantError(t, s.Store.RevokeToken(ctx, "acme", theirs.ID), onefold.ErrTokenUnknown)
	wantError(t, s.Store.RevokeToken(ctx, "acme", "tok_none"), onefold.ErrTokenUnknown)
	revoked := s.Clock.Now()
	noError(t, s.Store.RevokeToken(ctx, "acme", ours.ID))
	s.Clock.Advance(time.Hour)
	noError(t, s.Store.RevokeToken(ctx, "acme", ours.ID))
	got, found, err := s.Store.TokenByHash(ctx, "h1")
	noError(t, err)
	if !found || got.RevokedAt == nil || !got.RevokedAt.Equal(revoked) {
		t.Errorf("found %v, revoked at %v", found, got.RevokedAt)
	}
}

func tokenTouched(t *testing.T, s *Subject) {
	ctx := context.Background()
	_, err := s.Store.CreateWorkspace(ctx, "acme")
	noError(t, err)
	made := onefold.Token{ID: "tok_1", Hash: "h", Workspace: "acme", Name: "a", CreatedAt: s.Clock.Now()}
	noError(t, s.Store.CreateToken(ctx, made))
	start := s.Clock.Now()
	for _, c := range []struct{ at, want time.Duration }{
		{0, 0}, {59 * time.Second, 0}, {time.Minute, time.Minute}, {61 * time.Second, time.Minute}, {time.Hour, time.Hour},
	} {
		noError(t, s.Store.TouchToken(ctx, "tok_1", start.Add(c.at)))
		got, _, err := s.Store.TokenByHash(ctx, "h")
		noError(t, err)
		if got.LastUsedAt == nil || !got.LastUsedAt.Equal(start.Add(c.want)) {
			t.Errorf("after a use at %v the last one is %v", c.at, got.LastUsedAt)
		}
	}
	noError(t, s.Store.TouchToken(ctx, "tok_none", start))
}

// Proves: I8, I13a
func secretsRemembered(t *testing.T, s *Subject) {
	ctx := context.Background()
	noError(t, s.Store.RememberSecret(ctx, "k1", "check one"))
	noError(t, s.Store.RememberSecret(ctx, "k1", "check one"))
	noError(t, s.Store.RememberSecret(ctx, "k2", "check two"))
	if err := s.Store.RememberSecret(ctx, "k1", "check other"); err == nil {
		t.Error("two secrets have one id")
	}
	got, err := s.Store.Installation(ctx)
	noError(t, err)
	if diff := cmp.Diff(map[string]string{"k1": "check one", "k2": "check two"}, got.Secrets); diff != "" {
		t.Errorf("the secrets differ:\n%s", diff)
	}
	if got.Deployment == "" || got.Epoch != 1 {
		t.Errorf("the installation is %+v", got)
	}
	noError(t, s.Store.Ping(ctx))
	if now, err := s.Store.Now(ctx); err != nil || !now.Equal(s.Clock.Now()) {
		t.Errorf("the store's time is %v, error %v", now, err)
	}
}
