package rig

import (
	"cmp"
	"context"
	_ "embed"
	"log/slog"
	"net"
	"net/netip"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	_ "modernc.org/sqlite" // the driver that the binary ships

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/contract"
	"github.com/onefold-dev/onefold/httptarget"
	"github.com/onefold-dev/onefold/internal/bootclock"
	"github.com/onefold-dev/onefold/internal/ids"
	"github.com/onefold-dev/onefold/internal/secret"
	"github.com/onefold-dev/onefold/runner"
	"github.com/onefold-dev/onefold/sandbox"
	"github.com/onefold-dev/onefold/sqlite"
)

// Workspace and Connection are those of the rig's documents.
const (
	Workspace  = "acme"
	Connection = "acme-erp"
)

// secretText keys the rig's fingerprints and digests.
const secretText = "a secret of the rig, long enough"

//go:embed documents.yaml
var documents string

// Documents returns the rig's documents: bills.create (enforced), orders.create
// (reconcilable) and payments.send (detectable, acknowledged) at a sandbox, over
// one connection.
func Documents() string { return documents }

// Options change what a rig is made of. The zero value is a whole rig.
type Options struct {
	// Path is the SQLite file; "" means one in the test's folder.
	Path string
	// Driver and DSN are those of the store; "" and nil mean the driver that the
	// binary ships.
	Driver string
	DSN    func(path string) string
	// Edit changes the documents before they are published.
	Edit func(string) string
	// Carrier stands in for the HTTP target; no sandbox is started then.
	Carrier onefold.Carrier
	// Secrets resolve the documents' references; nil means that there are none.
	Secrets httptarget.Secrets
	// Sandbox is used instead of a sandbox of the rig's own, which the caller ends.
	Sandbox *sandbox.Sandbox
	// SandboxOptions change the rig's own sandbox.
	SandboxOptions func(*sandbox.Options)
	// Now is the store's clock; nil means the machine's.
	Now func() time.Time
	// Boot is the runner's monotonic clock; nil means the machine's, or, where Now
	// is given, one that goes with it.
	Boot             func() time.Duration
	Lease, Scan      time.Duration
	Straggler, Drain time.Duration
	// Idle leaves the runner out until Start is called.
	Idle bool
	// Store wraps the store, Contracts the contracts and Wrap the carrier that
	// ledger and runner use.
	Store     func(onefold.Store) onefold.Store
	Contracts func(onefold.Contracts) onefold.Contracts
	Wrap      func(onefold.Carrier) onefold.Carrier
	Log       *slog.Logger
}

// Rig is a whole onefold in the test's process.
type Rig struct {
	TB       testing.TB
	Store    onefold.Store
	Registry *contract.Registry
	Ledger   *onefold.Ledger
	Sandbox  *sandbox.Sandbox
	URL      string // the sandbox's

	options   Options
	documents *onefold.Follower
	carrier   onefold.Carrier
	stop      func()
}

// New builds a rig and ends it with the test.
func New(tb testing.TB, o Options) *Rig {
	tb.Helper()
	r := &Rig{TB: tb, options: o, URL: "http://127.0.0.1:1"}
	if r.options.Boot == nil {
		r.options.Boot = bootclock.Now
		if now := o.Now; now != nil {
			began := now()
			r.options.Boot = func() time.Duration { return now().Sub(began) }
		}
	}
	if r.options.Now == nil {
		r.options.Now = time.Now
	}
	r.openTarget()
	r.openStore()
	r.publish()
	if !o.Idle {
		r.Start()
	}
	return r
}

func (r *Rig) openTarget() {
	if r.options.Carrier != nil {
		r.carrier = r.options.Carrier
		return
	}
	secrets := r.options.Secrets
	if secrets == nil {
		secrets = &secret.Resolver{}
	}
	carrier, err := httptarget.New(httptarget.Options{
		Secrets: secrets, DigestKey: []byte(secretText), Clock: bootclock.Now, Now: time.Now,
		AllowCIDRs: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
	})
	r.must("carrier", err)
	r.TB.Cleanup(func() { r.must("close carrier", carrier.Close()) })
	r.carrier = carrier
	r.Sandbox = r.options.Sandbox
	if r.Sandbox == nil {
		o := sandbox.Options{Now: time.Now}
		if r.options.SandboxOptions != nil {
			r.options.SandboxOptions(&o)
		}
		r.Sandbox, err = sandbox.Open(context.Background(), o)
		r.must("sandbox", err)
		r.TB.Cleanup(func() { r.must("close sandbox", r.Sandbox.Close()) })
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	r.must("listen", err)
	r.URL = "http://" + l.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Sandbox.Serve(ctx, l) }()
	r.TB.Cleanup(func() { cancel(); r.must("serve sandbox", <-done) })
}

func (r *Rig) openStore() {
	path := r.options.Path
	if path == "" {
		path = filepath.Join(r.TB.TempDir(), "onefold.db")
	}
	store, err := sqlite.Open(context.Background(), sqlite.Options{
		Path: path, Driver: cmp.Or(r.options.Driver, "sqlite"), DSN: r.options.DSN,
		Now: r.options.Now, IDs: ids.Random{}, Migrate: true,
	})
	r.must("store", err)
	r.TB.Cleanup(func() { r.must("close store", store.Close()) })
	r.Store = store
	if r.options.Store != nil {
		r.Store = r.options.Store(store)
	}
	if _, err := r.Store.CreateWorkspace(context.Background(), Workspace); err != nil && onefold.CodeOf(err) != onefold.CodeWorkspaceExists {
		r.must("workspace", err)
	}
}

func (r *Rig) publish() {
	text := strings.ReplaceAll(documents, "SANDBOX_URL", r.URL)
	if r.options.Edit != nil {
		text = r.options.Edit(text)
	}
	r.Registry = contract.NewRegistry(contract.Options{Secret: []byte(secretText), SecretID: "rig", Straggler: r.options.Straggler})
	r.documents = onefold.Follow(r.Store, r.Registry.Load)
	r.Publish(text)
	installation, err := r.Store.Installation(context.Background())
	r.must("installation", err)
	contracts := onefold.Contracts(r.Registry)
	if r.options.Contracts != nil {
		contracts = r.options.Contracts(contracts)
	}
	r.Ledger, err = onefold.New(r.Store, onefold.Config{
		Contracts: contracts, IDs: ids.Random{}, Now: r.options.Now, Deployment: installation.Deployment, Documents: r.documents,
	})
	r.must("ledger", err)
}

// Publish decodes, stores and loads documents.
func (r *Rig) Publish(text string) {
	r.TB.Helper()
	ctx := context.Background()
	decoded, faults := contract.DecodeFile("documents.yaml", []byte(text))
	if len(faults) > 0 {
		r.TB.Fatalf("documents: %v", faults)
	}
	var docs []onefold.Document
	for _, d := range decoded {
		docs = append(docs, onefold.Document{
			Kind: string(d.Kind), Workspace: d.Workspace, Name: d.Name, Version: d.Version,
			Source: d.Source, Canonical: d.Canonical, PublishedBy: "rig",
		})
	}
	_, err := r.Store.Publish(ctx, docs)
	r.must("publish", err)
	r.must("load", r.documents.Load(ctx))
}

// Start runs a runner until Stop or the end of the test.
func (r *Rig) Start() {
	r.TB.Helper()
	carrier := r.carrier
	if r.options.Wrap != nil {
		carrier = r.options.Wrap(carrier)
	}
	run, err := runner.New(r.Ledger, carrier, runner.Config{
		Worker: "rig", Boot: r.options.Boot, Lease: r.options.Lease, Scan: r.options.Scan,
		Drain: r.options.Drain, UserAgent: "onefold/rig", Logger: r.options.Log,
	})
	r.must("runner", err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- run.Run(ctx) }()
	r.stop = sync.OnceFunc(func() { cancel(); r.must("run", <-done) })
	r.TB.Cleanup(r.stop)
}

// Operator is a decision of the rig's operator on an operation.
func Operator(op onefold.Operation, reason string) onefold.Decision {
	return onefold.Decision{
		Workspace: Workspace, Operation: op.ID, Reason: reason,
		By: onefold.Actor{Kind: onefold.ActorPrincipal, Name: "operator"},
	}
}

// Stop drains the runner.
func (r *Rig) Stop() { r.stop() }

// Submit admits an operation of the rig's workspace and connection, or fails the test.
func (r *Rig) Submit(capability, key, request string) onefold.Operation {
	r.TB.Helper()
	op, _, err := r.Ledger.Submit(context.Background(), r.Submission(capability, key, request))
	r.must("submit", err)
	return op
}

// Submission makes a submission for the rig's workspace.
func (r *Rig) Submission(capability, key, request string) onefold.Submission {
	return onefold.Submission{
		Workspace: Workspace, Capability: capability, Key: key, Request: []byte(request),
		SubmittedBy: "caller", MayRead: true,
	}
}

// Until waits until the operation is as wanted; it fails the test if that takes
// longer than a minute.
func (r *Rig) Until(id, what string, done func(*onefold.Operation) bool) onefold.Operation {
	r.TB.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	op, err := r.Ledger.Wait(ctx, Workspace, id, done)
	r.must("wait", err)
	if !done(&op) {
		r.TB.Fatalf("the operation %s never became %s: it is %s %+v", id, what, op.State, op.Standing)
	}
	return op
}

// UntilState waits for a state.
func (r *Rig) UntilState(id string, state onefold.State) onefold.Operation {
	r.TB.Helper()
	return r.Until(id, string(state), func(op *onefold.Operation) bool { return op.State == state })
}

// Fault queues a fault at the sandbox.
func (r *Rig) Fault(f sandbox.Fault) string {
	r.TB.Helper()
	id, err := r.Sandbox.AddFault(context.Background(), f)
	r.must("fault", err)
	return id
}

// Effects counts the sandbox's effects with the given reference.
func (r *Rig) Effects(reference string) int {
	r.TB.Helper()
	effects, err := r.Sandbox.Effects(context.Background())
	r.must("effects", err)
	n := 0
	for _, e := range effects {
		if e.Reference == reference {
			n++
		}
	}
	return n
}

// Writes counts the write requests that reached the sandbox with the given
// reference.
func (r *Rig) Writes(reference string) int {
	r.TB.Helper()
	requests, err := r.Sandbox.Requests(context.Background())
	r.must("requests", err)
	n := 0
	for _, q := range requests {
		if q.Reference == reference && q.Method != "GET" {
			n++
		}
	}
	return n
}

func (r *Rig) must(what string, err error) {
	r.TB.Helper()
	if err != nil {
		r.TB.Fatalf("rig: %s: %v", what, err)
	}
}
