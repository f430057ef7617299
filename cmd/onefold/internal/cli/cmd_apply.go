package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/client"
	"github.com/onefold-dev/onefold/cmd/onefold/internal/deployment"
	"github.com/onefold-dev/onefold/contract"
)

// applyOrder is what apply was asked for.
type applyOrder struct {
	path, db      string
	check, dryRun bool
	straggler     time.Duration
}

func newApply(a *app) *cobra.Command {
	var o applyOrder
	c := &cobra.Command{
		Use: "apply -f PATH", Short: "Publish documents: capabilities, targets, connections", Args: wants(), DisableFlagsInUseLine: true,
		Long: "Publish documents: a file, or a folder whose *.yaml, *.yml and *.json files, sub-folders included, are read\n" +
			"whole. All of them are published, or none. A running server takes them up within about a second.\n\n" +
			"With --server the token's workspace publishes its own connections; capabilities and targets belong to the\n" +
			"deployment and are published on the database.\n\n" +
			"--check judges the documents by themselves, without a database, and shows what follows from them: protection,\n" +
			"mode in force, what happens in doubt. --dry-run judges them against the database and says what would change.\n" +
			"Warnings go to standard error and never change the exit code.",
		RunE: func(c *cobra.Command, _ []string) error { return a.apply(c, &o) },
	}
	c.Flags().StringVarP(&o.path, "file", "f", "", "the `PATH` of the file or folder to read")
	c.Flags().BoolVar(&o.check, "check", false, "judge the documents and publish nothing; neither --db nor --server is needed")
	c.Flags().BoolVar(&o.dryRun, "dry-run", false, "say what would change and publish nothing")
	addStraggler(c, &o.straggler)
	addDB(c, &o.db)
	a.addServer(c)
	return c
}

func (a *app) apply(c *cobra.Command, o *applyOrder) error {
	if err := required(c, "file", o.path, "for example: onefold apply -f contracts --db sqlite:onefold.db"); err != nil {
		return err
	}
	if o.db != "" && a.server != "" {
		return usage("leave one of them out", "--db and --server exclude one another")
	}
	docs, err := a.readDocuments(o.path)
	if err != nil {
		return err
	}
	if len(docs) == 0 {
		return newFailure(ExitRefused, onefold.CodeDocumentInvalid, "a folder's *.yaml, *.yml and *.json files are read",
			o.path+" holds no document")
	}
	times := contract.Deployment{Straggler: o.straggler}
	if o.check && o.db == "" && a.server == "" {
		verdict, err := deployment.Judge(docs, nil, times, a.Now(), nil)
		return a.applied(nil, docs, verdict, err, "checked")
	}
	if o.db == "" && (a.server != "" || a.env(envDB) == "" && a.env(envServer) != "") {
		return a.applyRemotely(c, o, docs)
	}
	return a.onDatabase(c.Context(), c, o.db, func(s onefold.Store) error {
		applied, verdict, err := deployment.Publish(c.Context(), s, deployment.Publication{
			Documents: docs, By: "apply", Deployment: times, Today: a.Now(), DryRun: o.check || o.dryRun,
		})
		return a.applied(applied, docs, verdict, err, resultWord(o))
	})
}

// applyRemotely publishes over the API.
func (a *app) applyRemotely(c *cobra.Command, o *applyOrder, docs []contract.Document) error {
	files, err := deployment.SourceFiles(docs)
	if err != nil {
		return err
	}
	sent := make([]client.SourceFile, 0, len(files))
	for _, f := range files {
		sent = append(sent, client.SourceFile{Name: f.Name, Text: string(f.Text)})
	}
	api, err := a.client()
	if err != nil {
		return err
	}
	defer api.Close()
	done, err := api.Publish(c.Context(), sent, o.check || o.dryRun)
	if err != nil {
		return err
	}
	verdict := deployment.Verdict{Warnings: done.Warnings, Served: []deployment.Served{}}
	applied := slices.Concat(appliedNames(done.Stored, deployment.Published), appliedNames(done.Unchanged, deployment.Unchanged))
	return a.applied(applied, docs, verdict, nil, resultWord(o))
}

func appliedNames(names []client.DocumentName, change deployment.Change) []deployment.AppliedDocument {
	out := make([]deployment.AppliedDocument, 0, len(names))
	for _, n := range names {
		out = append(out, deployment.AppliedDocument{
			Kind: contract.Kind(n.Kind), Workspace: n.Workspace, Name: n.Name, Version: n.Version, Change: change,
		})
	}
	return out
}

// resultWord says in a word what apply did.
func resultWord(o *applyOrder) string {
	switch {
	case o.check:
		return "checked"
	case o.dryRun:
		return "dry_run"
	}
	return "applied"
}

// applied shows what became of documents, with the warnings on standard error.
func (a *app) applied(applied []deployment.AppliedDocument, docs []contract.Document, v deployment.Verdict, err error, word string) error {
	if err != nil && a.json {
		f := asFailure(err) // one object tells it all
		f.problem["warnings"] = v.Warnings
		return f
	}
	a.warnings(v)
	if err != nil {
		return err
	}
	if applied == nil {
		applied = []deployment.AppliedDocument{}
		for i := range docs {
			applied = append(applied, deployment.AppliedDocument{
				Kind: docs[i].Kind, Workspace: docs[i].Workspace, Name: docs[i].Name, Version: docs[i].Version, Change: "checked",
			})
		}
	}
	return a.answer(map[string]any{
		"result": word, "documents": applied, "serves": v.Served, "warnings": v.Warnings,
	}, func(w io.Writer) {
		for _, d := range applied {
			fmt.Fprintf(w, "%-10s %s\n", changeWord(word, d.Change), documentName(d))
		}
		if word != "applied" {
			a.servedText(w, v.Served)
		}
	})
}

func changeWord(word string, change deployment.Change) string {
	if word == "dry_run" && change == deployment.Published {
		return "would be published"
	}
	return string(change)
}

func documentName(d deployment.AppliedDocument) string {
	name := d.Name
	if d.Workspace != "" {
		name = d.Workspace + "/" + name
	}
	if d.Version > 0 {
		name = fmt.Sprintf("%s@%d", name, d.Version)
	}
	return fmt.Sprintf("%s %s", d.Kind, name)
}

// servedText shows what follows from documents.
func (a *app) servedText(w io.Writer, served []deployment.Served) {
	for _, s := range served {
		fmt.Fprintf(w, "\n%s@%d over %s/%s\n", s.Capability, s.Version, s.Workspace, s.Connection)
		fmt.Fprintf(w, "  protection  %s\n", a.color(bold, string(s.Protection)))
		for _, reason := range s.Reasons {
			fmt.Fprintf(w, "              %s\n", reason)
		}
		fmt.Fprintf(w, "  mode        %s\n", s.Mode)
		if s.Limitation != "" {
			fmt.Fprintf(w, "              %s\n", s.Limitation)
		}
		fmt.Fprintln(w, "  in doubt")
		for i, step := range s.Plan {
			fmt.Fprintf(w, "    %d. %s\n", i+1, step)
		}
	}
}

// readDocuments reads a file or folder; one that cannot be read is a wrong
// command line.
func (a *app) readDocuments(path string) ([]contract.Document, error) {
	docs, err := deployment.ReadDocuments(path)
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return nil, usage("", "%s cannot be read: %s", path, pathErr.Err)
	}
	return docs, err
}

// publishFolder publishes what a folder holds, for serve --apply.
func (a *app) publishFolder(ctx context.Context, store onefold.Store, path string, times contract.Deployment) error {
	docs, err := a.readDocuments(path)
	if err != nil {
		return err
	}
	_, verdict, err := deployment.Publish(ctx, store, deployment.Publication{
		Documents: docs, By: "serve --apply", Deployment: times, Today: a.Now(),
	})
	a.warnings(verdict)
	return err
}

// warnings tells what somebody should look at.
func (a *app) warnings(v deployment.Verdict) {
	for _, warning := range v.Warnings {
		a.note("%s", strings.Replace(warning, ": warning: ", ": ", 1))
	}
}
