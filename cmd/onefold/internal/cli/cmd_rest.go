package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/cmd/onefold/internal/remote"
	"github.com/onefold-dev/onefold/contract"
)

// reviewItem is a review with its operation.
type reviewItem struct {
	review
	Operation operation `json:"operation"`
}

func newReviews(a *app) *cobra.Command {
	query := url.Values{}
	c := &cobra.Command{
		Use: "reviews", Short: "List what needs a person, newest first", Args: wants(),
		Long: "List reviews: work that a person owns because evidence alone cannot settle an operation. Without --status the\n" +
			"open ones are listed.",
		RunE: func(c *cobra.Command, _ []string) error {
			r, err := a.remote()
			if err != nil {
				return err
			}
			if !query.Has("status") {
				query.Set("status", "open")
			}
			rep, err := r.Get(c.Context(), "/v1/reviews", query)
			if err != nil {
				return err
			}
			return show(a, rep, func(w io.Writer, p page[reviewItem]) {
				rows := make([][]string, 0, len(p.Items))
				for i := range p.Items {
					item := &p.Items[i]
					rows = append(rows, []string{
						item.ID, item.Reason, item.Status, plain(item.Owner), item.Operation.ID, item.Operation.Capability, when(item.OpenedAt),
					})
				}
				tableOr(w, "nothing needs a person", []string{"REVIEW", "REASON", "STATUS", "OWNER", "OPERATION", "CAPABILITY", "OPENED"}, rows)
				more(w, p.NextCursor)
			})
		},
	}
	f := c.Flags()
	f.Var(queryFlag{query, "status", "STATUS", []string{"open", "resolved"}}, "status", "open or resolved (default open)")
	f.Var(queryFlag{query, "owner", "NAME", nil}, "owner", "of this owner")
	f.Var(queryFlag{query, "reason", "REASON", nil}, "reason", "opened for this reason")
	f.Var(queryFlag{query, "age", "D", nil}, "age", "open for at least that long, for example 8h")
	addPaging(f, query)
	a.addServer(c)
	return c
}

// connection is one connection with whether it is paused.
type connection struct {
	Name    string `json:"name"`
	Target  string `json:"target"`
	Version int    `json:"target_version"`
	URL     string `json:"url"`
	Owner   string `json:"owner"`
	Mode    string `json:"declared_mode"`
	Paused  *struct {
		Since  time.Time `json:"since"`
		By     actor     `json:"by"`
		Reason string    `json:"reason"`
	} `json:"paused"`
	Serves []struct {
		Capability string `json:"capability"`
		Version    int    `json:"version"`
		Protection string `json:"protection"`
		Mode       string `json:"mode"`
	} `json:"serves"`
}

func newConnections(a *app) *cobra.Command {
	c := &cobra.Command{Use: "connections", Short: "See, pause and resume connections"}
	list := &cobra.Command{
		Use: "list", Short: "List the workspace's connections", Args: wants(),
		RunE: func(c *cobra.Command, _ []string) error {
			r, err := a.remote()
			if err != nil {
				return err
			}
			rep, err := r.Get(c.Context(), "/v1/connections", nil)
			if err != nil {
				return err
			}
			return show(a, rep, connectionTable)
		},
	}
	c.AddCommand(list, newSwitch(a, "pause", "Stop every begin at a connection; look-ups go on"), newSwitch(a, "resume", "Lift a connection's pause"))
	for _, sub := range c.Commands() {
		a.addServer(sub)
	}
	group(c)
	return c
}

func connectionTable(w io.Writer, p page[connection]) {
	var rows [][]string
	for i := range p.Items {
		c := &p.Items[i]
		state := "running"
		if c.Paused != nil {
			state = strings.TrimSuffix(fmt.Sprintf("paused since %s by %s: %s", when(c.Paused.Since), plain(c.Paused.By.Name), plain(c.Paused.Reason)), ": ")
		}
		first := []string{c.Name, fmt.Sprintf("%s@%d", c.Target, c.Version), plain(c.Owner), state}
		for _, s := range c.Serves {
			rows = append(rows, append(first, fmt.Sprintf("%s@%d", s.Capability, s.Version), s.Protection, s.Mode))
			first = []string{"", "", "", ""}
		}
		if len(c.Serves) == 0 {
			rows = append(rows, append(first, "", "", c.Mode))
		}
	}
	tableOr(w, "the workspace has no connection", []string{"CONNECTION", "TARGET", "OWNER", "STATE", "SERVES", "PROTECTION", "MODE"}, rows)
}

// newSwitch builds pause and resume.
func newSwitch(a *app, action, short string) *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use: action + " NAME", Short: short, Args: wants("NAME"),
		RunE: func(c *cobra.Command, args []string) error {
			r, err := a.remote()
			if err != nil {
				return err
			}
			body := map[string]any{}
			if reason != "" {
				body["reason"] = reason
			}
			text, err := json.Marshal(body)
			if err != nil {
				return err
			}
			rep, err := r.Call(c.Context(), remote.Request{
				Method: http.MethodPost, Path: "/v1/connections/" + url.PathEscape(args[0]) + "/" + action, Body: text,
			})
			if err != nil {
				return err
			}
			return show(a, rep, func(w io.Writer, _ map[string]any) { fmt.Fprintf(w, "connection %s: %sd\n", args[0], action) })
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
			r, err := a.remote()
			if err != nil {
				return err
			}
			rep, err := r.Get(c.Context(), "/v1/agreements/"+url.PathEscape(args[0])+"/"+url.PathEscape(connectionName), nil)
			if err != nil {
				return err
			}
			return show(a, rep, markdownText)
		},
	}
	c.Flags().StringVar(&connectionName, "connection", "", "`NAME` of the connection")
	c.Flags().StringVar(&workspace, "workspace", "", "with --db: the `NAME` of the workspace (default: the only one that has a connection)")
	addDB(c, &db)
	a.addServer(c)
	return c
}

// markdown is an agreement as a page.
type markdown struct {
	Markdown string `json:"markdown"`
}

func markdownText(w io.Writer, m markdown) { _, _ = io.WriteString(w, m.Markdown) }

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
		return a.answer(agreement, func(w io.Writer) { markdownText(w, markdown{agreement.Markdown}) })
	})
}
