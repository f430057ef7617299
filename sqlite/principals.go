package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/onefold-dev/onefold"
)

// touchEvery is how often the last use of a token is written at most: it tells
// whether a token is in use, not when each call was made.
const touchEvery = time.Minute

// Installation returns what identifies this copy of the data (I13a, M29).
func (s *Store) Installation(ctx context.Context) (onefold.Installation, error) {
	out := onefold.Installation{Secrets: map[string]string{}}
	err := s.readers.row(ctx, "installation.read", nil, &out.Deployment, &out.Epoch)
	if err != nil {
		return onefold.Installation{}, s.readers.failure("read the installation record", err)
	}
	type check struct{ id, value string }
	checks, err := collect(ctx, s.readers, "secret.all", func(row scanner) (c check, err error) {
		err = row.Scan(&c.id, &c.value)
		return c, err
	})
	for _, c := range checks {
		out.Secrets[c.id] = c.value
	}
	if err == nil {
		out.KeyIDs, err = collect(ctx, s.readers, "secret.in_use", scanText)
	}
	return out, s.readers.failure("read the installation record", err)
}

// RememberSecret stores the check value of a fingerprint secret, once (I8). A
// key id that stands with another value is refused: two secrets under one id
// would turn every repeat into a conflict.
func (s *Store) RememberSecret(ctx context.Context, keyID, check string) error {
	known := ""
	err := s.readers.row(ctx, "secret.find", []any{keyID}, &known)
	if err == nil && known == check {
		return nil
	}
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return s.readers.failure("read a secret's check value", err)
	}
	return s.writer.do(ctx, func(w *session) error {
		added, err := w.exec("secret.insert", keyID, check, nano(s.opts.now()))
		if err != nil || added == 1 {
			return err
		}
		known := ""
		if err := w.row("secret.find", []any{keyID}, &known); err != nil || known == check {
			return err
		}
		return fmt.Errorf("sqlite: the fingerprint secret %s is another than the one in use under this id", keyID)
	})
}

// CreateWorkspace makes a workspace. Errors: workspace_exists.
func (s *Store) CreateWorkspace(ctx context.Context, name string) (onefold.Workspace, error) {
	made := onefold.Workspace{Name: name, CreatedAt: s.opts.now()}
	err := s.writer.do(ctx, func(w *session) error {
		added, err := w.exec("workspace.insert", name, nano(made.CreatedAt))
		if err == nil && added == 0 {
			return &onefold.Error{Code: onefold.CodeWorkspaceExists, Message: "the workspace " + name + " exists"}
		}
		return err
	})
	if err != nil {
		return onefold.Workspace{}, err
	}
	return made, nil
}

// Workspaces lists the workspaces by name.
func (s *Store) Workspaces(ctx context.Context) ([]onefold.Workspace, error) {
	out, err := collect(ctx, s.readers, "workspace.all", func(row scanner) (w onefold.Workspace, err error) {
		at := int64(0)
		err = row.Scan(&w.Name, &at)
		w.CreatedAt = fromNano(at)
		return w, err
	})
	return out, s.readers.failure("list the workspaces", err)
}

// CreateToken stores a token; its secret is not part of it. Errors:
// workspace_unknown.
func (s *Store) CreateToken(ctx context.Context, t onefold.Token) error {
	roles, err := json.Marshal(t.Roles)
	if err != nil {
		return fmt.Errorf("sqlite: write a token: %w", err)
	}
	connections, err := json.Marshal(t.Connections)
	if err != nil {
		return fmt.Errorf("sqlite: write a token: %w", err)
	}
	return s.writer.do(ctx, func(w *session) error {
		known := 0
		err := w.row("workspace.find", []any{t.Workspace}, &known)
		if errors.Is(err, sql.ErrNoRows) {
			return &onefold.Error{Code: onefold.CodeWorkspaceUnknown, Message: "there is no workspace " + t.Workspace}
		}
		if err != nil {
			return err
		}
		return w.must("token.insert", t.ID, t.Hash, t.Workspace, t.Name, string(roles), string(connections),
			nano(t.CreatedAt), nullNano(t.ExpiresAt), nullNano(t.RevokedAt), nullNano(t.LastUsedAt))
	})
}

// Tokens lists the tokens of a workspace, oldest first, revoked and expired
// ones included.
func (s *Store) Tokens(ctx context.Context, workspace string) ([]onefold.Token, error) {
	out, err := collect(ctx, s.readers, "token.by_workspace", scanToken, workspace)
	return out, s.readers.failure("list the tokens", err)
}

func scanToken(row scanner) (t onefold.Token, err error) {
	roles, connections, created := "", "", int64(0)
	var expires, revoked, used sql.NullInt64
	err = row.Scan(&t.ID, &t.Hash, &t.Workspace, &t.Name, &roles, &connections, &created, &expires, &revoked, &used)
	if err != nil {
		return t, err
	}
	t.CreatedAt, t.ExpiresAt = fromNano(created), fromNullNano(expires)
	t.RevokedAt, t.LastUsedAt = fromNullNano(revoked), fromNullNano(used)
	// A token whose roles, or the connections to which they are limited, cannot be
	// read may do nothing, and hides no other in a list.
	if errors.Join(json.Unmarshal([]byte(roles), &t.Roles), json.Unmarshal([]byte(connections), &t.Connections)) != nil {
		t.Roles, t.Connections = nil, nil
	}
	return t, nil
}

// RevokeToken ends a token for good; one that is revoked stays as it is.
// Errors: token_unknown, also for a token of another workspace (I5).
func (s *Store) RevokeToken(ctx context.Context, workspace, id string) error {
	return s.writer.do(ctx, func(w *session) error {
		revoked := sql.NullInt64{}
		err := w.row("token.find", []any{id, workspace}, &revoked)
		if errors.Is(err, sql.ErrNoRows) {
			return &onefold.Error{Code: onefold.CodeTokenUnknown, Message: "there is no such token"}
		}
		if err != nil || revoked.Valid {
			return err
		}
		return w.must("token.revoke", id, nano(s.opts.now()))
	})
}

// TokenByHash finds a token by the SHA-256 (hex) of its secret, expired and
// revoked ones included.
func (s *Store) TokenByHash(ctx context.Context, hash string) (onefold.Token, bool, error) {
	stmt, err := s.readers.statement(ctx, "token.by_hash")
	if err != nil {
		return onefold.Token{}, false, s.readers.failure("find a token", err)
	}
	t, err := scanToken(stmt.QueryRowContext(ctx, hash))
	if errors.Is(err, sql.ErrNoRows) {
		return onefold.Token{}, false, nil
	}
	if err != nil {
		return onefold.Token{}, false, s.readers.failure("find a token", err)
	}
	return t, true, nil
}

// TouchToken records a use of a token; at most one in a minute is written. A
// token that does not exist is no error.
func (s *Store) TouchToken(ctx context.Context, id string, at time.Time) error {
	used, before := sql.NullInt64{}, nano(at.Add(-touchEvery))
	err := s.readers.row(ctx, "token.last_used", []any{id}, &used)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return s.readers.failure("read a token", err)
	case used.Valid && used.Int64 > before:
		return nil
	}
	return s.writer.do(ctx, func(w *session) error {
		_, err := w.exec("token.touch", id, nano(at), before)
		return err
	})
}
