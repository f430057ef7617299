package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/cmd/onefold/internal/deployment"
	"github.com/onefold-dev/onefold/contract"
)

// renderOrder is what render was asked for.
type renderOrder struct {
	path, db, workspace, connection, key, capability string
	version                                          int
}

// exampleKey stands for the caller key where none is given.
const exampleKey = "example-key"

// offlineDeployment stands for the deployment's id, which only a database has.
const offlineDeployment = "offline"

func newRender(a *app) *cobra.Command {
	var o renderOrder
	c := &cobra.Command{
		Use: "render CAPABILITY REQUEST.json|-", Short: "Show the request that would go to the target", Args: wants("CAPABILITY", "REQUEST.json"),
		Long: "Show the request that would go to the target, byte for byte but for credentials. Nothing is sent or stored.\n" +
			"With -f the documents come from a file or folder; identity and reference are then examples, because they are\n" +
			"derived from the deployment's id, which only a database has.",
		RunE: func(c *cobra.Command, args []string) error {
			o.capability = args[0]
			return a.render(c, &o, args[1])
		},
	}
	c.Flags().StringVarP(&o.path, "file", "f", "", "the `PATH` of the file or folder with the documents")
	addDB(c, &o.db)
	c.Flags().StringVar(&o.workspace, "workspace", "", "`NAME` of the workspace (default: the only one that has a connection)")
	c.Flags().StringVar(&o.connection, "connection", "", "`NAME` of the connection (default: the only one that serves the capability)")
	c.Flags().StringVar(&o.key, "key", exampleKey, "the caller `KEY` that identity and reference are derived from")
	addRanged(c.Flags(), numberFlag[int]{&o.version, 1, mostVersion}, "contract-version", "the contract's version, `N` (default: the newest)")
	return c
}

func (a *app) render(c *cobra.Command, o *renderOrder, name string) error {
	docs, id, err := a.documentsFor(c, o)
	if err != nil {
		return err
	}
	request, err := a.readRequest(name)
	if err != nil {
		return err
	}
	registry := contract.NewRegistry(contract.Options{})
	if err := registry.Load(docs); err != nil {
		return err
	}
	if o.workspace == "" {
		if o.workspace, err = onlyWorkspace(docs); err != nil {
			return err
		}
	}
	binding, err := registry.Bind(o.workspace, o.capability, o.version, o.connection)
	if err != nil {
		return err
	}
	if err := registry.CheckRequest(request); err != nil {
		return err
	}
	if err := binding.Validate(request); err != nil {
		return err
	}
	op := renderedOperation(a, o, binding, id)
	frozen, err := binding.Freeze(&op, request)
	if err != nil {
		return err
	}
	return a.rendered(&op, &frozen, binding.Route())
}

// documentsFor reads the documents of -f or of the database, and the
// deployment's id.
func (a *app) documentsFor(c *cobra.Command, o *renderOrder) (docs []onefold.Document, id string, err error) {
	if o.path != "" && o.db != "" {
		return nil, "", usage("leave one of them out", "-f and --db exclude one another")
	}
	if o.path == "" {
		err = a.onDatabase(c.Context(), c, o.db, func(s onefold.Store) error {
			docs, id, err = storedDocuments(c.Context(), s)
			return err
		})
		return docs, id, err
	}
	read, err := a.readDocuments(o.path)
	if err != nil {
		return nil, "", err
	}
	if _, err := deployment.Judge(read, nil, contract.Deployment{}, a.Now(), nil); err != nil {
		return nil, "", err
	}
	return deployment.ToStore(read, ""), offlineDeployment, nil
}

func storedDocuments(ctx context.Context, s onefold.Store) ([]onefold.Document, string, error) {
	installation, err := s.Installation(ctx)
	if err != nil {
		return nil, "", err
	}
	docs, err := s.AllDocuments(ctx)
	return docs, installation.Deployment, err
}

// onlyWorkspace is the workspace of all connections.
func onlyWorkspace(docs []onefold.Document) (string, error) {
	var names []string
	for i := range docs {
		if docs[i].Workspace != "" && !slices.Contains(names, docs[i].Workspace) {
			names = append(names, docs[i].Workspace)
		}
	}
	if len(names) == 1 {
		return names[0], nil
	}
	return "", usage("for example: --workspace acme", "--workspace is wanted: connections of %d workspaces are there", len(names))
}

// renderedOperation is the operation that the request would belong to.
func renderedOperation(a *app, o *renderOrder, binding onefold.Binding, deploymentID string) onefold.Operation {
	terms := binding.Terms()
	op := onefold.Operation{Admitted: onefold.Admitted{
		ID: a.IDs.New(onefold.PrefixOperation, a.Now()), Workspace: terms.Workspace, Capability: terms.Capability,
		ContractVersion: terms.ContractVersion, Target: terms.Target, TargetVersion: terms.TargetVersion,
		Connection: terms.Connection, Key: o.key, CreatedAt: a.Now(),
	}}
	op.Identity, op.Reference = binding.Derive(deploymentID, o.key, 0)
	return op
}

// rendered shows a frozen request.
func (a *app) rendered(op *onefold.Operation, f *onefold.Frozen, route onefold.Route) error {
	headers := make([]map[string]string, 0, len(f.Headers))
	for _, h := range f.Headers {
		headers = append(headers, map[string]string{"name": h.Name, "value": h.Value})
	}
	var body any
	switch {
	case f.Body == nil:
	case json.Valid(f.Body):
		body = json.RawMessage(f.Body)
	default:
		body = string(f.Body)
	}
	return a.answer(map[string]any{
		"method": f.Method, "url": route.URL + f.Path, "path": f.Path, "headers": headers, "body": body, "body_text": string(f.Body),
		"digest": f.Digest, "timeout": f.Timeout.String(), "identity": op.Identity, "reference": op.Reference,
		"capability": op.Capability, "contract_version": op.ContractVersion, "connection": op.Connection,
		"target": fmt.Sprintf("%s@%d", op.Target, op.TargetVersion), "auth": route.Auth.Scheme,
	}, func(w io.Writer) {
		fmt.Fprintf(w, "%s %s\n", f.Method, plain(route.URL+f.Path))
		for _, h := range f.Headers {
			fmt.Fprintf(w, "%s: %s\n", h.Name, plain(h.Value))
		}
		if route.Auth.Scheme != "" {
			fmt.Fprintf(w, "(credentials: %s, added when it is sent)\n", route.Auth.Scheme)
		}
		if len(f.Body) > 0 {
			fmt.Fprintf(w, "\n%s\n", plainLines(strings.TrimRight(string(f.Body), "\n")))
		}
	})
}
