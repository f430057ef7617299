package onefold_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	_ "modernc.org/sqlite" // any driver of database/sql for SQLite does

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/contract"
	"github.com/onefold-dev/onefold/machine"
	"github.com/onefold-dev/onefold/sqlite"
)

// A whole program: a store in one file, a contract, a ledger, and one letter that
// is posted one time, however often it is asked for.
func Example() {
	ctx := context.Background()
	folder, err := os.MkdirTemp("", "onefold-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(folder) }()

	store, err := sqlite.Open(ctx, sqlite.Options{
		Path: filepath.Join(folder, "onefold.db"), Driver: "sqlite", Now: time.Now, IDs: machine.IDs(), Migrate: true,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = store.Close() }()
	if _, err := store.CreateWorkspace(ctx, "acme"); err != nil && !errors.Is(err, onefold.ErrWorkspaceExists) {
		fmt.Println(err)
		return
	}

	docs, faults := contract.DecodeFile("letters.yaml", []byte(`
kind: capability
name: letters.post
version: 1
request: {type: object, required: [to], properties: {to: {type: string}}}
---
kind: target
name: post-office
version: 1
protocol: go
operations:
  letters.post:
    write: {timeout: 10s}
    identity: {kind: none}
    in_doubt: [operator]
---
kind: connection
workspace: acme
name: post
target: post-office@1
url: go://post-office
owner: maria@acme.example
acknowledged: {by: maria@acme.example, date: 2026-11-29, reason: letters are few and watched}
`))
	if err := faults.Err(); err != nil {
		fmt.Println(err)
		return
	}
	var publications []onefold.Document
	for i := range docs {
		publications = append(publications, docs[i].Publication())
	}
	published, err := store.Publish(ctx, publications)
	if err != nil {
		fmt.Println(err)
		return
	}
	registry := contract.NewRegistry(contract.Options{Secret: []byte("kept with the data"), SecretID: "1"})
	if err := registry.Load(published); err != nil {
		fmt.Println(err)
		return
	}
	installation, err := store.Installation(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	ledger, err := onefold.New(store, onefold.Config{
		Contracts: registry, IDs: machine.IDs(), Now: time.Now, Boot: machine.Boot, Deployment: installation.Deployment,
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	for range 3 {
		op, err := ledger.Do(ctx, onefold.Submission{
			Workspace: "acme", Capability: "letters.post", Key: "2026/birthday/E-7", Request: []byte(`{"to": "Åse"}`), SubmittedBy: "calendar",
		}, onefold.Steps{Write: func(_ context.Context, c onefold.Call) (onefold.WriteReport, error) {
			fmt.Printf("posted %s\n", c.Request)
			return onefold.Applied("LETTER-1"), nil
		}})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(op.State, op.Result.Reference)
	}
	// Output:
	// posted {"to": "Åse"}
	// confirmed LETTER-1
	// confirmed LETTER-1
	// confirmed LETTER-1
}
