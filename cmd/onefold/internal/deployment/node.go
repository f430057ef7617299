package deployment

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/api"
	"github.com/onefold-dev/onefold/contract"
	"github.com/onefold-dev/onefold/httptarget"
	"github.com/onefold-dev/onefold/internal/secret"
	"github.com/onefold-dev/onefold/runner"
)

const (
	// reloadEvery is how often a node asks whether documents were published: the
	// question reads one number, and a second is as fast as a person looks.
	reloadEvery = time.Second
	// shutdownGrace is how long answers under way may take to be written when a
	// node ends; whatever needed longer was answered when it began to drain.
	shutdownGrace = 5 * time.Second
)

// NodeOptions are a node's settings. Access, Secret, Boot and Log are required.
type NodeOptions struct {
	Access  Access
	Secret  Secret
	Migrate bool
	// Prepare, if set, is called with the open store before documents are loaded.
	Prepare func(ctx context.Context, store onefold.Store) error
	// Worker names the runner in leases; empty: no runner.
	Worker string
	// Lease, Scan and Drain are the runner's timings; 0 is its default.
	Lease, Scan, Drain time.Duration
	// Deployment's times are part of every contract.
	Deployment contract.Deployment
	// Allow are special address ranges that targets may lie in.
	Allow []netip.Prefix
	// Proxy is the forward proxy to every target, nil for none; httptarget.ParseProxy
	// reads it.
	Proxy *url.URL
	// SecretsFolder and LookupEnv are where connections' secrets come from.
	SecretsFolder string
	LookupEnv     func(name string) (string, bool)
	// Boot is a monotonic clock that also counts suspended time (M9).
	Boot    func() time.Duration
	Version string
	Log     *slog.Logger
}

// Node is an open installation: a store with its documents, its API and, unless
// it has none, its runner. Open makes it, Run works, Close ends it.
type Node struct {
	options  NodeOptions
	store    *placedStore
	Ledger   *onefold.Ledger
	registry *contract.Registry
	// documents keeps the registry in step with the store.
	documents *onefold.Follower
	api       *api.Server
	carrier   *httptarget.Carrier
	runner    *runner.Runner
	// resolver resolves the connections' secrets, nil where nothing is sent from
	// here; missing is what the last look for them found.
	resolver *secret.Resolver
	missing  atomic.Pointer[[]MissingSecret]
}

// placedStore tells when a runner has got its place.
type placedStore struct {
	onefold.Store
	once  sync.Once
	taken chan struct{}
}

// TakeRunner is the store's, and tells when it succeeded.
func (s *placedStore) TakeRunner(ctx context.Context, worker string) (func() error, error) {
	release, err := s.Store.TakeRunner(ctx, worker)
	if err == nil {
		s.once.Do(func() { close(s.taken) })
	}
	return release, err
}

// OpenNode opens the database, settles the secret, loads the documents and puts
// API and runner together. Nothing is served or sent yet.
func OpenNode(ctx context.Context, o NodeOptions) (_ *Node, err error) {
	store, err := o.Access.Open(ctx, o.Migrate)
	if err != nil {
		return nil, err
	}
	n := &Node{options: o, store: &placedStore{Store: store, taken: make(chan struct{})}}
	defer func() {
		if err != nil {
			err = errors.Join(err, n.Close())
		}
	}()
	installation, err := o.Secret.settle(ctx, store)
	if err != nil {
		return nil, err
	}
	if o.Prepare != nil {
		if err := o.Prepare(ctx, store); err != nil {
			return nil, err
		}
	}
	n.registry = contract.NewRegistry(contract.Options{
		Secret: o.Secret.bytes, SecretID: o.Secret.ID, Straggler: o.Deployment.Straggler, ClockError: o.Deployment.ClockError,
	})
	n.documents = onefold.Follow(n.store, n.load)
	if err := n.documents.Load(ctx); err != nil {
		return nil, err
	}
	if o.Worker != "" {
		n.resolver = &secret.Resolver{Folder: o.SecretsFolder, LookupEnv: o.LookupEnv}
	}
	n.lookForSecrets(ctx)
	n.Ledger, err = onefold.New(n.store, onefold.Config{
		Contracts: n.registry, Documents: n.documents, IDs: o.Access.IDs, Now: o.Access.Now, Deployment: installation.Deployment,
	})
	if err != nil {
		return nil, err
	}
	n.api, err = api.New(api.Config{
		Ledger: n.Ledger, Catalog: n.catalog(), Publisher: &publisher{node: n}, Logger: o.Log, Now: o.Access.Now, Version: o.Version,
		Ready: n.ready,
	})
	if err != nil {
		return nil, err
	}
	return n, n.makeRunner()
}

// makeRunner puts the runner together, unless the node has none.
func (n *Node) makeRunner() (err error) {
	o := &n.options
	if o.Worker == "" {
		return nil
	}
	n.carrier, err = httptarget.New(httptarget.Options{
		Secrets:   n.resolver,
		DigestKey: o.Secret.digestKey(), Clock: o.Boot, Now: o.Access.Now, AllowCIDRs: o.Allow, Proxy: o.Proxy,
	})
	if err != nil {
		return err
	}
	n.runner, err = runner.New(n.Ledger, n.carrier, runner.Config{
		Worker: o.Worker, Boot: o.Boot, Lease: o.Lease, Scan: o.Scan, Drain: o.Drain,
		UserAgent: "onefold/" + o.Version, Logger: o.Log,
	})
	return err
}

// Close releases everything. Run has ended by then.
func (n *Node) Close() error {
	var err error
	if n.carrier != nil {
		err = n.carrier.Close()
	}
	return errors.Join(err, n.store.Close())
}

// Run works until ctx ends and then drains: /readyz says so, nothing new is
// admitted or leased, calls in flight may finish within the drain time-out, and
// the rest is recorded as uncertain. l is nil where no API is served. ready is
// called once everything answers. Errors: onefold.ErrRunnerTaken, and the
// listener's.
func (n *Node) Run(ctx context.Context, l net.Listener, ready func()) error {
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var group sync.WaitGroup
	defer group.Wait()
	defer stop()

	ran := make(chan error, 1)
	if err := n.startRunner(work, &group, ran); err != nil {
		if l != nil {
			err = errors.Join(err, l.Close())
		}
		return err
	}
	group.Go(func() { n.keepReloading(work) })
	group.Go(func() { n.keepLooking(work) })
	served := make(chan error, 1)
	server := n.api.HTTPServer()
	if l != nil {
		group.Go(func() { served <- server.Serve(bound(l)) })
	}
	ready()

	var failed error
	select {
	case <-ctx.Done():
	case failed = <-ran:
		ran <- nil
	case failed = <-served:
	}
	n.api.Drain()
	stop()
	return errors.Join(failed, <-ran, shutDown(server))
}

// startRunner starts the runner and waits until it has the store's place, or
// could not have it. ran gets the end of its work; without a runner, at once when
// work ends.
func (n *Node) startRunner(work context.Context, group *sync.WaitGroup, ran chan<- error) error {
	if n.runner == nil {
		group.Go(func() { <-work.Done(); ran <- nil })
		return nil
	}
	first := make(chan error, 1)
	group.Go(func() {
		err := n.runner.Run(work)
		first <- err
		ran <- err
	})
	select {
	case <-n.store.taken:
		return nil
	case err := <-first:
		return fmt.Errorf("the runner cannot work: %w", err)
	}
}

// shutDown lets answers under way be written, within bounds.
func shutDown(server *http.Server) error {
	grace, end := context.WithTimeout(context.Background(), shutdownGrace)
	defer end()
	if err := server.Shutdown(grace); err != nil {
		return server.Close()
	}
	return nil
}

// keepReloading takes up documents that were published beside this process, before
// anybody asks for them.
func (n *Node) keepReloading(ctx context.Context) {
	ticker := time.NewTicker(reloadEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		// A read that is cut off gives its connection back late, and the database
		// could not be closed in good order.
		err := n.documents.Load(context.WithoutCancel(ctx))
		if err != nil && ctx.Err() == nil {
			n.options.Log.Error("documents cannot be taken up; the earlier ones stay", "error", err.Error())
		}
	}
}

// load takes up the published documents.
func (n *Node) load(docs []onefold.Document) error {
	if err := n.registry.Load(docs); err != nil {
		return err
	}
	n.options.Log.Info("documents are loaded", "documents", len(docs))
	return nil
}

// catalog is what the API shows of the documents.
func (n *Node) catalog() *contract.Catalog {
	options := contract.CatalogOptions{AllowCIDRs: n.options.Allow}
	if n.options.Proxy != nil {
		options.Proxy = n.options.Proxy.Host
	}
	return contract.NewCatalog(n.registry, options)
}
