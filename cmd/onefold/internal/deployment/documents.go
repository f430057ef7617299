package deployment

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/api"
	"github.com/onefold-dev/onefold/cmd/onefold/examples"
	"github.com/onefold-dev/onefold/contract"
)

// ReadDocuments reads a file, or a folder whole.
func ReadDocuments(path string) ([]contract.Document, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	var docs []contract.Document
	var faults contract.Faults
	if info.IsDir() {
		docs, faults = contract.DecodeDir(os.DirFS(path))
		faults = below(path, faults)
		for i := range docs {
			placeBelow(path, &docs[i])
		}
	} else {
		text, err := readBounded(path)
		if err != nil {
			return nil, err
		}
		docs, faults = contract.DecodeFile(path, text)
	}
	return docs, faults.Err()
}

// readBounded reads a file up to one byte beyond what is decoded, so that the
// decoder's own refusal is the one that is shown.
func readBounded(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return io.ReadAll(io.LimitReader(f, contract.MaxFileBytes+1))
}

// below puts the folder that was read in front of the places of faults.
func below(folder string, faults contract.Faults) contract.Faults {
	for i := range faults {
		faults[i].File = filepath.Join(folder, faults[i].File)
	}
	return faults
}

func placeBelow(folder string, d *contract.Document) {
	for pointer, place := range d.Places {
		place.File = filepath.Join(folder, place.File)
		d.Places[pointer] = place
	}
}

// Change is what a publication does with one document.
type Change string

// What becomes of a document that is applied.
const (
	Published Change = "published"
	Unchanged Change = "unchanged"
)

// AppliedDocument is one document of a publication.
type AppliedDocument struct {
	Kind      contract.Kind `json:"kind"`
	Workspace string        `json:"workspace,omitempty"`
	Name      string        `json:"name"`
	Version   int           `json:"version"`
	Change    Change        `json:"change"`
}

// Served is what follows from a capability at a connection (apply --check).
type Served struct {
	Capability string                 `json:"capability"`
	Version    int                    `json:"version"`
	Workspace  string                 `json:"workspace"`
	Connection string                 `json:"connection"`
	Protection onefold.Protection     `json:"protection"`
	Mode       onefold.Mode           `json:"mode"`
	Limitation string                 `json:"limitation,omitempty"`
	Reasons    []string               `json:"reasons"`
	Plan       []string               `json:"plan"`
	InDoubt    []onefold.RecoveryStep `json:"in_doubt"`
}

// Verdict is what is to be said of documents before they are published.
type Verdict struct {
	Warnings []string
	Served   []Served
}

// Judge holds documents against one another and against what is published.
// published may be nil. Errors: document_invalid, version_immutable and
// not_supported_yet with their faults.
func Judge(docs, published []contract.Document, d contract.Deployment, today time.Time, principals []string) (Verdict, error) {
	faults, warnings := contract.Lint(&contract.Set{
		New: docs, Published: published, Deployment: d, Today: today, Principals: principals,
	})
	v := Verdict{Warnings: []string{}, Served: []Served{}}
	for _, w := range warnings {
		v.Warnings = append(v.Warnings, w.String())
	}
	if err := faults.Err(); err != nil {
		return v, err
	}
	v.Served = served(slices.Concat(published, docs), d)
	return v, nil
}

// served lists what each connection does for the newest version of each
// capability.
func served(docs []contract.Document, d contract.Deployment) []Served {
	capabilities, targets, connections := map[string]*contract.Capability{}, map[string]*contract.Target{}, map[string]*contract.Connection{}
	var names, refs []string
	for i := range docs {
		doc := &docs[i]
		switch doc.Kind {
		case contract.KindCapability:
			if have := capabilities[doc.Name]; have == nil {
				names = append(names, doc.Name)
				capabilities[doc.Name] = doc.Capability
			} else if have.Version <= doc.Version {
				capabilities[doc.Name] = doc.Capability
			}
		case contract.KindTarget:
			targets[fmt.Sprintf("%s@%d", doc.Name, doc.Version)] = doc.Target
		case contract.KindConnection:
			ref := doc.Workspace + "/" + doc.Name
			if connections[ref] == nil {
				refs = append(refs, ref)
			}
			connections[ref] = doc.Connection
		}
	}
	slices.Sort(names)
	slices.Sort(refs)
	out := []Served{}
	for _, ref := range refs {
		conn := connections[ref]
		target := targets[fmt.Sprintf("%s@%d", conn.Target, conn.TargetVersion)]
		for _, name := range names {
			if op := operationFor(target, capabilities[name]); op != nil {
				out = append(out, oneServed(capabilities[name], op, conn, d))
			}
		}
	}
	return out
}

// operationFor is the target's entry for a capability; the one that names its
// version wins.
func operationFor(t *contract.Target, c *contract.Capability) *contract.TargetOperation {
	if t == nil {
		return nil
	}
	var found *contract.TargetOperation
	for i := range t.Operations {
		op := &t.Operations[i]
		switch {
		case op.Capability != c.Name:
		case op.CapabilityVersion == c.Version:
			return op
		case op.CapabilityVersion == 0:
			found = op
		}
	}
	return found
}

func oneServed(c *contract.Capability, op *contract.TargetOperation, conn *contract.Connection, d contract.Deployment) Served {
	derived := contract.Derive(c, op, conn, d)
	s := Served{
		Capability: c.Name, Version: c.Version, Workspace: conn.Workspace, Connection: conn.Name,
		Protection: derived.Protection, Mode: derived.EffectiveMode, Limitation: derived.Limitation,
		Reasons: derived.Reasons, Plan: []string{}, InDoubt: op.InDoubt,
	}
	for _, step := range derived.Plan {
		s.Plan = append(s.Plan, step.Text)
	}
	return s
}

// Publication is a set of documents on its way into a store.
type Publication struct {
	Documents  []contract.Document
	By         string
	Deployment contract.Deployment
	Today      time.Time
	// DryRun judges and stores nothing.
	DryRun bool
}

// Publish judges documents against what is published and stores them in one
// transaction: all or none. It returns what was done, not what was planned: of
// those who publish a connection at once each is told a revision of its own. Errors: those of Judge, workspace_unknown, and the
// store's.
func Publish(ctx context.Context, store onefold.Store, p Publication) ([]AppliedDocument, Verdict, error) {
	stored, err := store.AllDocuments(ctx)
	if err != nil {
		return nil, Verdict{}, err
	}
	published, faults := contract.DecodePublished(stored)
	if err := faults.Err(); err != nil {
		return nil, Verdict{}, fmt.Errorf("published documents cannot be read: %w", err)
	}
	if err := workspacesExist(ctx, store, p.Documents); err != nil {
		return nil, Verdict{}, err
	}
	verdict, err := Judge(p.Documents, published, p.Deployment, p.Today, nil)
	if err != nil {
		return nil, verdict, err
	}
	have := map[string]string{}
	revisions := map[string]int{}
	for i := range stored {
		have[handle(stored[i].Kind, stored[i].Workspace, stored[i].Name, stored[i].Version)] = string(stored[i].Canonical)
		if stored[i].Kind == string(contract.KindConnection) {
			revisions[stored[i].Workspace+"/"+stored[i].Name] = stored[i].Version
		}
	}
	applied := make([]AppliedDocument, 0, len(p.Documents))
	for i := range p.Documents {
		applied = append(applied, plan(&p.Documents[i], have, revisions))
	}
	if p.DryRun {
		return applied, verdict, nil
	}
	done, err := store.Publish(ctx, ToStore(p.Documents, p.By))
	if errors.Is(err, onefold.ErrCommitUnknown) {
		err = &onefold.Error{
			Code: onefold.CodeStoreUnavailable, Cause: err, Message: "it is not known whether the documents were stored",
			Hint: "apply them again: what is there already is left as it is",
		}
	}
	if err != nil {
		return applied, verdict, err
	}
	applied, err = became(ctx, store, p.Documents, applied, done)
	return applied, verdict, err
}

// became says what publishing did, which others who published meanwhile may have
// made another thing than was planned.
func became(ctx context.Context, store onefold.Store, docs []contract.Document, planned []AppliedDocument, stored []onefold.Document) ([]AppliedDocument, error) {
	out := slices.Clone(planned)
	revisions := map[string]int(nil)
	for i := range out {
		a := &out[i]
		same := func(d onefold.Document) bool {
			return d.Kind == string(a.Kind) && d.Workspace == a.Workspace && d.Name == a.Name && (a.Kind == contract.KindConnection || d.Version == a.Version)
		}
		if j := slices.IndexFunc(stored, same); j >= 0 {
			a.Change, a.Version = Published, stored[j].Version
			continue
		}
		if a.Change == Unchanged {
			continue
		}
		a.Change = Unchanged // somebody published the same in between
		if a.Kind != contract.KindConnection {
			continue
		}
		if revisions == nil {
			var err error
			if revisions, err = revisionsOf(ctx, store, docs); err != nil {
				return nil, err
			}
		}
		a.Version = revisions[a.Workspace+"/"+a.Name]
	}
	return out, nil
}

// revisionsOf are the newest revisions in which connections stand as they are here.
func revisionsOf(ctx context.Context, store onefold.Store, docs []contract.Document) (map[string]int, error) {
	stored, err := store.AllDocuments(ctx)
	if err != nil {
		return nil, err
	}
	out := map[string]int{}
	for i := range docs {
		d := &docs[i]
		for _, have := range stored {
			if have.Kind == string(d.Kind) && have.Workspace == d.Workspace && have.Name == d.Name && bytes.Equal(have.Canonical, d.Canonical) {
				out[d.Workspace+"/"+d.Name] = have.Version
			}
		}
	}
	return out, nil
}

// plan says what publishing a document will do.
func plan(d *contract.Document, have map[string]string, revisions map[string]int) AppliedDocument {
	a := AppliedDocument{Kind: d.Kind, Workspace: d.Workspace, Name: d.Name, Version: d.Version, Change: Published}
	if d.Kind == contract.KindConnection {
		a.Version = revisions[d.Workspace+"/"+d.Name]
	}
	if have[handle(string(d.Kind), d.Workspace, d.Name, a.Version)] == string(d.Canonical) {
		a.Change = Unchanged
	} else if d.Kind == contract.KindConnection {
		a.Version++
	}
	return a
}

func handle(kind, workspace, name string, version int) string {
	return fmt.Sprintf("%s %s/%s@%d", kind, workspace, name, version)
}

// ToStore is documents as a store keeps them.
func ToStore(docs []contract.Document, by string) []onefold.Document {
	out := make([]onefold.Document, 0, len(docs))
	for i := range docs {
		d := docs[i].Publication()
		d.Version, d.PublishedBy = max(d.Version, 1), by // of a connection the store counts its own
		out = append(out, d)
	}
	return out
}

// workspacesExist refuses connections of workspaces that nobody made.
func workspacesExist(ctx context.Context, store onefold.Store, docs []contract.Document) error {
	have, err := store.Workspaces(ctx)
	if err != nil {
		return err
	}
	for i := range docs {
		d := &docs[i]
		known := slices.ContainsFunc(have, func(w onefold.Workspace) bool { return w.Name == d.Workspace })
		if d.Kind == contract.KindConnection && !known {
			return &onefold.Error{
				Code: onefold.CodeWorkspaceUnknown, Message: fmt.Sprintf("%s: there is no workspace %q", d.At("/workspace"), d.Workspace),
				Hint: "make it first: onefold workspace create " + d.Workspace,
			}
		}
	}
	return nil
}

// Serves tells whether a connection's target, among the given documents, serves
// a capability.
func Serves(docs []contract.Document, conn *contract.Connection, c *contract.Capability) bool {
	for i := range docs {
		t := docs[i].Target
		if t != nil && t.Name == conn.Target && t.Version == conn.TargetVersion && operationFor(t, c) != nil {
			return true
		}
	}
	return false
}

// ReadExamples reads the documents of the examples, for a sandbox at an address.
func ReadExamples(sandboxURL string) ([]contract.Document, error) {
	var docs []contract.Document
	var faults contract.Faults
	files := examples.Files()
	names, err := fs.Glob(files, "*.yaml")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		text, err := files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		text = bytes.ReplaceAll(text, []byte("url: "+examples.SandboxURL), []byte("url: "+sandboxURL))
		more, wrong := contract.DecodeFile("examples/"+name, text)
		docs, faults = append(docs, more...), append(faults, wrong...)
	}
	return docs, faults.Err()
}

// SourceFiles are the files that documents were read from, as their author wrote
// them.
func SourceFiles(docs []contract.Document) ([]api.SourceFile, error) {
	var out []api.SourceFile
	for i := range docs {
		name := docs[i].At("").File
		if slices.ContainsFunc(out, func(f api.SourceFile) bool { return f.Name == name }) {
			continue
		}
		text, err := readBounded(name)
		if err != nil {
			return nil, err
		}
		out = append(out, api.SourceFile{Name: name, Text: text})
	}
	return out, nil
}
