package deployment

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/api"
	"github.com/onefold-dev/onefold/contract"
)

// TokenOrder is what a token is to be.
type TokenOrder struct {
	Workspace string
	// Name is the principal; empty gives one that no other token has.
	Name        string
	Roles       []onefold.Role
	Connections []string
	// Expires is how long it is valid; 0 is until it is revoked.
	Expires time.Duration
	Now     time.Time
	IDs     onefold.IDs
	Random  io.Reader
}

// NewToken makes a token and stores its digest. The secret is returned this one
// time. Errors: workspace_unknown, connection_unknown, member_invalid (a name
// that is not one visible line: it is shown as who has acted), the store's.
func NewToken(ctx context.Context, store onefold.Store, o TokenOrder) (secret string, token onefold.Token, err error) {
	if err := WorkspaceExists(ctx, store, o.Workspace); err != nil {
		return "", token, err
	}
	if err := connectionsExist(ctx, store, o.Workspace, o.Connections); err != nil {
		return "", token, err
	}
	if o.Name != "" && !onefold.ReadableName(o.Name) {
		return "", token, &onefold.Error{
			Code: onefold.CodeMemberInvalid, Pointer: "/name",
			Message: "the name of a token must be one line that can be seen, without controls or marks of direction: it is shown as who has acted",
			Hint:    "leave it out, or give one that can be read",
		}
	}
	if o.Name == "" {
		have, err := store.Tokens(ctx, o.Workspace)
		if err != nil {
			return "", token, err
		}
		o.Name = fmt.Sprintf("token-%d", len(have)+1)
	}
	if secret, err = api.NewToken(o.Random); err != nil {
		return "", token, err
	}
	token = onefold.Token{
		ID: o.IDs.New(onefold.PrefixToken, o.Now), Hash: api.HashToken(secret), Workspace: o.Workspace, Name: o.Name,
		Roles: o.Roles, Connections: append([]string{}, o.Connections...), CreatedAt: o.Now.UTC().Truncate(time.Microsecond),
	}
	if o.Expires > 0 {
		at := token.CreatedAt.Add(o.Expires)
		token.ExpiresAt = &at
	}
	return secret, token, store.CreateToken(ctx, token)
}

// WorkspaceExists refuses a workspace that nobody made.
func WorkspaceExists(ctx context.Context, store onefold.Store, name string) error {
	have, err := store.Workspaces(ctx)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(have, func(w onefold.Workspace) bool { return w.Name == name }) {
		return nil
	}
	return &onefold.Error{
		Code: onefold.CodeWorkspaceUnknown, Message: fmt.Sprintf("there is no workspace %q", name),
		Hint: "make it first: onefold workspace create " + name,
	}
}

// connectionsExist refuses names under which the workspace has no connection: a
// slip would otherwise make a token that may deliver nothing, and say nothing.
func connectionsExist(ctx context.Context, store onefold.Store, workspace string, names []string) error {
	if len(names) == 0 {
		return nil
	}
	have, err := store.AllDocuments(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		if !slices.ContainsFunc(have, func(d onefold.Document) bool {
			return d.Kind == string(contract.KindConnection) && d.Workspace == workspace && d.Name == name
		}) {
			return &onefold.Error{
				Code: onefold.CodeConnectionUnknown, Message: fmt.Sprintf("workspace %s has no connection %q", workspace, name),
				Hint: "publish it first: onefold apply -f FOLDER",
			}
		}
	}
	return nil
}
