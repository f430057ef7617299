package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/client"
	"github.com/onefold-dev/onefold/contract"
)

// reviewsOrder is what reviews was asked for.
type reviewsOrder struct {
	filter         client.ReviewFilter
	status, reason string
}

func newReviews(a *app) *cobra.Command {
	o := reviewsOrder{status: string(onefold.ReviewOpen)}
	c := &cobra.Command{
		Use: "reviews", Short: "List what needs a person, newest first", Args: wants(),
		Long: "List reviews: work that a person owns because evidence alone cannot settle an operation. Without --status the\n" +
			"open ones are listed.",
		RunE: func(c *cobra.Command, _ []string) error {
			o.filter.Status, o.filter.Reason = onefold.ReviewStatus(o.status), onefold.ReviewReason(o.reason)
			api, err := a.client()
			if err != nil {
				return err
			}
			defer api.Close()
			p, err := api.Reviews(c.Context(), o.filter)
			if err != nil {
				return err
			}
			return a.show(p.Raw, func(w io.Writer) { reviewTable(w, &p) })
		},
	}
	f := c.Flags()
	f.Var(wordFlag{&o.status, "STATUS", []string{string(onefold.ReviewOpen), string(onefold.ReviewResolved)}}, "status", "open or resolved")
	f.StringVar(&o.filter.Owner, "owner", "", "of the owner `NAME`")
	f.StringVar(&o.reason, "reason", "", "opened for this `REASON`")
	addRanged(f, durationFlag{&o.filter.Age, time.Second, mostAge}, "age", "open for at least that long, for example 8h")
	addPaging(f, &o.filter.PageOf, listSize)
	a.addServer(c)
	return c
}

func reviewTable(w io.Writer, p *client.Page[client.Review]) {
	rows := make([][]string, 0, len(p.Items))
	for i := range p.Items {
		r := &p.Items[i]
		rows = append(rows, []string{r.ID, string(r.Reason), string(r.Status), plain(r.Owner), r.Operation.ID, r.Operation.Capability, when(r.OpenedAt)})
	}
	tableOr(w, "nothing needs a person", []string{"REVIEW", "REASON", "STATUS", "OWNER", "OPERATION", "CAPABILITY", "OPENED"}, rows)
	damaged(w, p.Unreadable)
	more(w, p.NextCursor)
}

func newConnections(a *app) *cobra.Command {
	c := &cobra.Command{Use: "connections", Short: "See, pause and resume connections"}
	c.AddCommand(
		newConnectionsList(a),
		newSwitch(a, "pause", "Stop every begin at a connection; look-ups go on", (*client.Client).Pause),
		newSwitch(a, "resume", "Lift a connection's pause", (*client.Client).Resume),
	)
	for _, sub := range c.Commands() {
		a.addServer(sub)
	}
	group(c)
	return c
}

func newConnectionsList(a *app) *cobra.Command {
	var of client.PageOf
	c := &cobra.Command{
		Use: "list", Short: "List the workspace's connections", Args: wants(),
		RunE: func(c *cobra.Command, _ []string) error {
			api, err := a.client()
			if err != nil {
				return err
			}
			defer api.Close()
			p, err := api.Connections(c.Context(), of)
			if err != nil {
				return err
			}
			return a.show(p.Raw, func(w io.Writer) { connectionTable(w, p.Items, p.NextCursor) })
		},
	}
	addPaging(c.Flags(), &of, listSize)
	return c
}

func connectionTable(w io.Writer, items []client.Connection, next *string) {
	var rows [][]string
	for i := range items {
		c := &items[i]
		state := "running"
		if p := c.Paused; p != nil {
			state = strings.TrimSuffix(fmt.Sprintf("paused since %s by %s: %s", when(p.Since), named(p.By.Name), named(p.Reason)), ": ")
		}
		first := []string{c.Name, fmt.Sprintf("%s@%d", c.Target, c.TargetVersion), plain(c.Owner), state}
		for _, s := range c.Serves {
			rows = append(rows, append(first, fmt.Sprintf("%s@%d", s.Capability, s.Version), string(s.Protection), string(s.Mode)))
			first = []string{"", "", "", ""}
		}
		if len(c.Serves) == 0 {
			rows = append(rows, append(first, "", "", string(c.Mode)))
		}
	}
	tableOr(w, "the workspace has no connection", []string{"CONNECTION", "TARGET", "OWNER", "STATE", "SERVES", "PROTECTION", "MODE"}, rows)
	more(w, next)
}

// newSwitch builds pause and resume.
func newSwitch(a *app, action, short string, act func(api *client.Client, ctx context.Context, name, reason string) (client.Connection, error)) *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use: action + " NAME", Short: short, Args: wants("NAME"),
		RunE: func(c *cobra.Command, args []string) error {
			api, err := a.client()
			if err != nil {
				return err
			}
			defer api.Close()
			conn, err := act(api, c.Context(), args[0], reason)
			if err != nil {
				return err
			}
			return a.show(conn.Raw, func(w io.Writer) { fmt.Fprintf(w, "connection %s: %sd\n", conn.Name, action) })
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "why, as `TEXT`")
	return c
}

func newAgreement(a *app) *cobra.Command {
	var db, workspace, connectionName string
	c := &cobra.Command{
		Use: "agreement CAPABILITY --connection NAME", Short: "Print the integration agreement of a capability over a connection", Args: wants("CAPABILITY"),
		DisableFlagsInUseLine: true,
		Long: "Print the integration agreement of a capability over a connection, in Markdown: written from the contract that\n" +
			"runs. It comes from the server, or with --db straight from the database.",
		RunE: func(c *cobra.Command, args []string) error {
			if err := required(c, "connection", connectionName, "for example: --connection acme-erp"); err != nil {
				return err
			}
			if db != "" {
				return a.storedAgreement(c, db, workspace, args[0], connectionName)
			}
			api, err := a.client()
			if err != nil {
				return err
			}
			defer api.Close()
			agreement, err := api.Agreement(c.Context(), args[0], connectionName)
			if err != nil {
				return err
			}
			return a.show(agreement.Raw, func(w io.Writer) { _, _ = io.WriteString(w, agreement.Markdown) })
		},
	}
	c.Flags().StringVar(&connectionName, "connection", "", "`NAME` of the connection")
	c.Flags().StringVar(&workspace, "workspace", "", "with --db: the `NAME` of the workspace (default: the only one that has a connection)")
	addDB(c, &db)
	a.addServer(c)
	return c
}

// storedAgreement writes an agreement straight from the database.
func (a *app) storedAgreement(c *cobra.Command, db, workspace, capability, connection string) error {
	return a.onDatabase(c.Context(), c, db, func(s onefold.Store) error {
		docs, _, err := storedDocuments(c.Context(), s)
		if err != nil {
			return err
		}
		if workspace == "" {
			if workspace, err = onlyWorkspace(docs); err != nil {
				return err
			}
		}
		registry := contract.NewRegistry(contract.Options{})
		if err := registry.Load(docs); err != nil {
			return err
		}
		agreement, err := contract.NewCatalog(registry, contract.CatalogOptions{}).Agreement(workspace, capability, connection)
		if err != nil {
			return err
		}
		return a.answer(agreement, func(w io.Writer) { _, _ = io.WriteString(w, agreement.Markdown) })
	})
}
