package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/api"
	"github.com/onefold-dev/onefold/cmd/onefold/internal/deployment"
	"github.com/onefold-dev/onefold/sqlite"
)

// onDatabase opens the installation's database for one piece of work.
func (a *app) onDatabase(ctx context.Context, c *cobra.Command, flag string, work func(onefold.Store) error) error {
	db, err := a.database(c, flag)
	if err != nil {
		return err
	}
	store, err := a.installation(db).Open(ctx, false)
	if err != nil {
		return err
	}
	return errors.Join(work(store), store.Close())
}

func newMigrate(a *app) *cobra.Command {
	var db string
	c := &cobra.Command{
		Use: "migrate", Short: "Bring a database up to date, or make it", Args: wants(),
		Long: "Bring a database up to date, or make it where there is none. Migrations go forward only; one that was\n" +
			"interrupted leaves nothing behind and is run again.",
		RunE: func(c *cobra.Command, _ []string) error {
			where, err := a.database(c, db)
			if err != nil {
				return err
			}
			applied, all, err := a.installation(where).Migrate(c.Context())
			if err != nil {
				return err
			}
			return a.answer(map[string]any{
				"db": where.String(), "applied": migrationNames(applied), "current": len(all),
			}, func(w io.Writer) {
				for _, name := range migrationNames(applied) {
					fmt.Fprintln(w, "applied", name)
				}
				fmt.Fprintf(w, "%s is current: %d migrations\n", where, len(all))
			})
		},
	}
	addDB(c, &db)
	return c
}

func migrationNames(list []sqlite.Migration) []string {
	names := make([]string, 0, len(list))
	for _, m := range list {
		names = append(names, fmt.Sprintf("%04d_%s", m.Version, m.Name))
	}
	return names
}

func newWorkspace(a *app) *cobra.Command {
	var db string
	create := &cobra.Command{
		Use: "create NAME", Short: "Make a workspace", Args: wants("NAME"),
		Long: "Make a workspace: a tenant with its own operations, connections and tokens. Its name is small letters,\n" +
			"digits and single hyphens.",
		RunE: func(c *cobra.Command, args []string) error {
			return a.onDatabase(c.Context(), c, db, func(s onefold.Store) error {
				if err := checkWorkspaceName(args[0]); err != nil {
					return err
				}
				w, err := s.CreateWorkspace(c.Context(), args[0])
				if err != nil {
					return err
				}
				return a.answer(w, func(out io.Writer) { fmt.Fprintf(out, "workspace %s is there\n", w.Name) })
			})
		},
	}
	list := &cobra.Command{
		Use: "list", Short: "List the workspaces", Args: wants(),
		RunE: func(c *cobra.Command, _ []string) error {
			return a.onDatabase(c.Context(), c, db, func(s onefold.Store) error {
				all, err := s.Workspaces(c.Context())
				if err != nil {
					return err
				}
				return a.answer(items(all), func(out io.Writer) {
					rows := make([][]string, 0, len(all))
					for _, w := range all {
						rows = append(rows, []string{w.Name, when(w.CreatedAt)})
					}
					tableOr(out, "there is no workspace yet", []string{"NAME", "CREATED"}, rows)
				})
			})
		},
	}
	addDB(create, &db)
	addDB(list, &db)
	c := &cobra.Command{Use: "workspace", Short: "Make and list workspaces, straight on the database"}
	c.AddCommand(create, list)
	group(c)
	return c
}

// maxWorkspaceName is as long as a name of a document may be.
const maxWorkspaceName = 100

// checkWorkspaceName holds a name against the form that documents and secret
// references need.
func checkWorkspaceName(name string) error {
	good := name != "" && len(name) <= maxWorkspaceName && !strings.Contains(name, "--") && name[0] != '-' && name[len(name)-1] != '-'
	for _, r := range name {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' {
			good = false
		}
	}
	if good {
		return nil
	}
	return newFailure(ExitRefused, onefold.CodeMemberInvalid, "small letters, digits and single hyphens, for example acme-eu",
		fmt.Sprintf("%q is no name of a workspace", name))
}

// items is a list in the form of the API's lists.
func items[T any](list []T) map[string]any {
	if list == nil {
		list = []T{}
	}
	return map[string]any{"items": list, "next_cursor": nil}
}

// tableOr prints rows, or a sentence where there is none.
func tableOr(w io.Writer, none string, headings []string, rows [][]string) {
	if len(rows) == 0 {
		fmt.Fprintln(w, none)
		return
	}
	table(w, headings, rows)
}

// when is a time for a person: UTC, to the second.
func when(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05Z")
}

func whenOpt(t *time.Time) string {
	if t == nil {
		return ""
	}
	return when(*t)
}

func newToken(a *app) *cobra.Command {
	c := &cobra.Command{Use: "token", Short: "Make, list and revoke tokens, straight on the database"}
	c.AddCommand(newTokenCreate(a), newTokenList(a), newTokenRevoke(a))
	group(c)
	return c
}

// tokenOrder is what token create was asked for.
type tokenOrder struct {
	db, workspace, name string
	roles, connections  []string
	expires             time.Duration
}

func newTokenCreate(a *app) *cobra.Command {
	var o tokenOrder
	c := &cobra.Command{
		Use: "create", Short: "Make a token and print it, once", Args: wants(),
		Long: "Make a token and print it on standard output, alone. It is shown this one time: the database keeps a digest.\n" +
			"One that cannot be shown is revoked at once; none is made where standard output leads nowhere.\n" +
			"Roles: submit, read, operate, evidence, admin.",
		RunE: func(c *cobra.Command, _ []string) error {
			if err := errors.Join(
				required(c, "workspace", o.workspace, "for example: --workspace acme"),
				required(c, "role", strings.Join(o.roles, ""), "for example: --role submit,read"),
			); err != nil {
				return firstOf(err)
			}
			return a.createToken(c, &o)
		},
	}
	addDB(c, &o.db)
	c.Flags().StringVar(&o.workspace, "workspace", "", "the `NAME` of the workspace that the token belongs to")
	c.Flags().StringSliceVar(&o.roles, "role", nil, "the `ROLES` that say what it may do, separated by commas")
	c.Flags().StringVar(&o.name, "name", "", "`NAME` of the principal: who is shown to have acted (default: token and a number)")
	c.Flags().StringSliceVar(&o.connections, "connection", nil, "with the role evidence: the `NAMES` of the connections that it may deliver for")
	addRanged(c.Flags(), durationFlag{&o.expires, time.Second, mostAge}, "expires", "how long it is valid, for example 90d (default: until it is revoked)")
	return c
}

// firstOf is the first of joined errors: one thing at a time is told.
func firstOf(err error) error {
	if many, ok := err.(interface{ Unwrap() []error }); ok { //nolint:errorlint // what errors.Join made, not its chain
		return many.Unwrap()[0]
	}
	return err
}

func (a *app) createToken(c *cobra.Command, o *tokenOrder) error {
	roles, err := parseRoles(o.roles)
	if err != nil {
		return err
	}
	if len(o.connections) > 0 && !slices.Contains(roles, onefold.RoleEvidence) {
		return usage("add the role evidence, or leave --connection out", "--connection limits the role evidence, which the token does not have")
	}
	if a.OutNowhere {
		return failed(codeUnwritten, "let standard output go where the token can be read", "standard output leads nowhere, and a token is shown this one time: none was made")
	}
	defer outliving()()
	return a.onDatabase(c.Context(), c, o.db, func(s onefold.Store) error {
		secret, token, err := deployment.NewToken(c.Context(), s, deployment.TokenOrder{
			Workspace: o.workspace, Name: o.name, Roles: roles, Connections: o.connections, Expires: o.expires,
			Now: a.Now(), IDs: a.IDs, Random: rand.Reader,
		})
		if err != nil {
			return err
		}
		shown := a.answer(map[string]any{
			"token": secret, "id": token.ID, "workspace": token.Workspace, "name": token.Name, "roles": token.Roles,
			"connections": token.Connections, "created_at": token.CreatedAt, "expires_at": token.ExpiresAt,
		}, func(w io.Writer) { fmt.Fprintln(w, secret) })
		if shown == nil {
			return nil
		}
		return unseenToken(context.WithoutCancel(c.Context()), s, &token, shown)
	})
}

// unseenToken ends a token that nobody was shown: nobody could use it, and nobody
// would know of it.
func unseenToken(ctx context.Context, s onefold.Store, t *onefold.Token, shown error) error {
	f := newFailure(ExitFailed, codeUnwritten, "let standard output go where the token can be read, and make another",
		fmt.Sprintf("the token %s was made and could not be shown, and is revoked: %s", t.ID, shown))
	if err := s.RevokeToken(ctx, t.Workspace, t.ID); err != nil {
		f = newFailure(ExitFailed, codeUnwritten, "end it: onefold token revoke "+t.ID+" --workspace "+t.Workspace,
			fmt.Sprintf("the token %s was made, could not be shown (%s), and could not be revoked: %s", t.ID, shown, err))
	}
	f.cause = shown
	return f
}

func parseRoles(texts []string) ([]onefold.Role, error) {
	var roles []onefold.Role
	for _, text := range texts {
		role := onefold.Role(strings.TrimSpace(text))
		if !slices.Contains(onefold.Roles(), role) {
			return nil, usage("the roles are submit, read, operate, evidence, admin", "there is no role %q", text)
		}
		if !slices.Contains(roles, role) {
			roles = append(roles, role)
		}
	}
	return roles, nil
}

func newTokenList(a *app) *cobra.Command {
	var db, workspace string
	c := &cobra.Command{
		Use: "list", Short: "List the tokens of a workspace", Args: wants(),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := required(c, "workspace", workspace, "for example: --workspace acme"); err != nil {
				return err
			}
			return a.onDatabase(c.Context(), c, db, func(s onefold.Store) error {
				if err := deployment.WorkspaceExists(c.Context(), s, workspace); err != nil {
					return err
				}
				all, err := s.Tokens(c.Context(), workspace)
				if err != nil {
					return err
				}
				return a.answer(items(all), func(w io.Writer) { tokenTable(w, all, a.Now()) })
			})
		},
	}
	addDB(c, &db)
	c.Flags().StringVar(&workspace, "workspace", "", "`NAME` of the workspace")
	return c
}

func tokenTable(w io.Writer, all []onefold.Token, now time.Time) {
	rows := make([][]string, 0, len(all))
	for i := range all {
		t := &all[i]
		state := "valid"
		switch {
		case t.RevokedAt != nil:
			state = "revoked"
		case t.ExpiresAt != nil && !now.Before(*t.ExpiresAt):
			state = "expired"
		}
		var roles []string
		for _, r := range t.Roles {
			roles = append(roles, string(r))
		}
		rows = append(rows, []string{t.ID, plain(t.Name), strings.Join(roles, ","), state, when(t.CreatedAt), whenOpt(t.ExpiresAt), whenOpt(t.LastUsedAt)})
	}
	tableOr(w, "the workspace has no token yet", []string{"ID", "NAME", "ROLES", "STATE", "CREATED", "EXPIRES", "LAST USED"}, rows)
}

func newTokenRevoke(a *app) *cobra.Command {
	var db, workspace string
	c := &cobra.Command{
		Use: "revoke ID", Short: "End a token, by its id or by the token itself", Args: wants("ID"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := required(c, "workspace", workspace, "for example: --workspace acme"); err != nil {
				return err
			}
			return a.onDatabase(c.Context(), c, db, func(s onefold.Store) error {
				id := args[0]
				if api.WellFormedToken(id) {
					if t, found, err := s.TokenByHash(c.Context(), api.HashToken(id)); err != nil {
						return err
					} else if found {
						id = t.ID
					}
				}
				if err := s.RevokeToken(c.Context(), workspace, id); err != nil {
					return err
				}
				return a.answer(map[string]any{"id": id, "revoked": true}, func(w io.Writer) { fmt.Fprintf(w, "token %s is revoked\n", id) })
			})
		},
	}
	addDB(c, &db)
	c.Flags().StringVar(&workspace, "workspace", "", "the `NAME` of the workspace that the token belongs to")
	return c
}
