package open

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	_ "modernc.org/sqlite" // any driver of database/sql for SQLite does

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/contract"
	"github.com/onefold-dev/onefold/machine"
	"github.com/onefold-dev/onefold/sqlite"
)

// Ledger opens a ledger on a database file, made where it is missing, with the
// documents of a folder and those below it. The secret keys the fingerprints by
// which repeats are recognised: keep it with the data. end closes the file.
func Ledger(ctx context.Context, path, workspace string, secret []byte, documents fs.FS) (_ *onefold.Ledger, end func() error, err error) {
	store, err := sqlite.Open(ctx, sqlite.Options{
		Path: path, Driver: "sqlite", Now: time.Now, IDs: machine.IDs(), Migrate: true,
	})
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, store.Close())
		}
	}()
	if _, err := store.CreateWorkspace(ctx, workspace); err != nil && !errors.Is(err, onefold.ErrWorkspaceExists) {
		return nil, nil, err
	}
	registry := contract.NewRegistry(contract.Options{Secret: secret, SecretID: "1"})
	if err := publish(ctx, store, documents); err != nil {
		return nil, nil, err
	}
	published := onefold.Follow(store, registry.Load)
	if err := published.Load(ctx); err != nil {
		return nil, nil, err
	}
	installation, err := store.Installation(ctx)
	if err != nil {
		return nil, nil, err
	}
	ledger, err := onefold.New(store, onefold.Config{
		Contracts: registry, Documents: published, IDs: machine.IDs(), Now: time.Now, Boot: machine.Boot,
		Deployment: installation.Deployment,
	})
	return ledger, store.Close, err
}

// publish reads a folder of documents, checks them against what is published
// already, and stores what is new.
func publish(ctx context.Context, store onefold.Documents, documents fs.FS) error {
	before, err := store.AllDocuments(ctx)
	if err != nil {
		return err
	}
	published, faults := contract.DecodePublished(before)
	fresh, more := contract.DecodeDir(documents)
	wrong, _ := contract.Lint(&contract.Set{New: fresh, Published: published})
	if err := append(append(faults, more...), wrong...).Err(); err != nil {
		return err
	}
	docs := make([]onefold.Document, 0, len(fresh))
	for i := range fresh {
		docs = append(docs, fresh[i].Publication())
	}
	_, err = store.Publish(ctx, docs)
	return err
}

// InFolder runs a function with a folder for its data: the one named, which stays,
// or a temporary one where none is.
func InFolder(folder string, run func(folder string) error) error {
	if folder != "" {
		return run(folder)
	}
	folder, err := os.MkdirTemp("", "onefold-example-")
	if err != nil {
		return err
	}
	return errors.Join(run(folder), os.RemoveAll(folder))
}
