package deployment

import (
	"context"
	"fmt"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/api"
	"github.com/onefold-dev/onefold/contract"
)

// publisher publishes documents that come over the API. A workspace may publish
// its own connections; capabilities, targets and the connections of others
// belong to the deployment (section 3).
type publisher struct{ node *Node }

var _ api.Publisher = (*publisher)(nil)

// Publish reads, checks and stores documents, all or none, and takes them up.
func (p *publisher) Publish(ctx context.Context, workspace, by string, files []api.SourceFile, dryRun bool) (api.Publication, error) {
	var docs []contract.Document
	var faults contract.Faults
	for _, f := range files {
		more, wrong := contract.DecodeFile(f.Name, f.Text)
		docs, faults = append(docs, more...), append(faults, wrong...)
	}
	if err := faults.Err(); err != nil {
		return api.Publication{}, err
	}
	if err := mayPublish(workspace, docs); err != nil {
		return api.Publication{}, err
	}
	applied, verdict, err := Publish(ctx, p.node.store, Publication{
		Documents: docs, By: by, Deployment: p.node.options.Deployment, Today: p.node.options.Access.Now(), DryRun: dryRun,
	})
	if err != nil {
		return api.Publication{}, err
	}
	out := api.Publication{Stored: []api.DocumentName{}, Unchanged: []api.DocumentName{}, Warnings: verdict.Warnings, DryRun: dryRun}
	for _, a := range applied {
		name := api.DocumentName{Kind: string(a.Kind), Workspace: a.Workspace, Name: a.Name, Version: a.Version}
		if a.Change == Unchanged {
			out.Unchanged = append(out.Unchanged, name)
		} else {
			out.Stored = append(out.Stored, name)
		}
	}
	out.Warnings = append(out.Warnings, p.missing(ctx, docs)...)
	if dryRun {
		return out, nil
	}
	return out, p.node.documents.Load(ctx)
}

// missing warns of secrets that the connections in documents name and that this
// node cannot have. A node that sends nothing cannot tell.
func (p *publisher) missing(ctx context.Context, docs []contract.Document) []string {
	if p.node.resolver == nil {
		return nil
	}
	var connections []*contract.Connection
	for i := range docs {
		if docs[i].Kind == contract.KindConnection {
			connections = append(connections, docs[i].Connection)
		}
	}
	missing, err := MissingSecrets(ctx, p.node.resolver, SecretsOf(connections))
	if err != nil {
		return nil
	}
	var warnings []string
	for _, m := range missing {
		warnings = append(warnings, fmt.Sprintf("connection %s: the secret %q cannot be had: %s; nothing is sent until it is there", m.Connection, m.Name, m.Why))
	}
	return warnings
}

// mayPublish refuses what does not belong to the workspace; "" is the deployment.
func mayPublish(workspace string, docs []contract.Document) error {
	for i := range docs {
		if workspace != "" && (docs[i].Kind != contract.KindConnection || docs[i].Workspace != workspace) {
			return &onefold.Error{
				Code:    onefold.CodeNotPermitted,
				Message: docs[i].At("/kind").String() + ": a workspace's token publishes connections of that workspace alone",
				Hint:    "capabilities and targets belong to the deployment: onefold apply --db",
			}
		}
	}
	return nil
}
