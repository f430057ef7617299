package cli

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/api"
	"github.com/onefold-dev/onefold/cmd/onefold/examples"
	"github.com/onefold-dev/onefold/cmd/onefold/internal/deployment"
	"github.com/onefold-dev/onefold/cmd/onefold/internal/devfolder"
	"github.com/onefold-dev/onefold/contract"
	"github.com/onefold-dev/onefold/sandbox"
)

const (
	// devData is where dev keeps what it needs, unless told otherwise.
	devData = "onefold-data"
	// devLag is how long the sandbox's look-ups lag: real ones do, and the example
	// contracts allow for more.
	devLag = 100 * time.Millisecond
	// devScan is how often dev looks for due work: it is being watched.
	devScan = 200 * time.Millisecond
)

// devOrder is what dev was asked for.
type devOrder struct{ data, listen, sandboxListen, logFormat string }

func newDev(a *app) *cobra.Command {
	var o devOrder
	c := &cobra.Command{
		Use: "dev", Short: "Run everything on this machine, with a target that misbehaves", Args: wants(),
		Long: "Run everything on this machine: ledger, API, runner, and a sandbox that plays an ERP and a bank and misbehaves on\n" +
			"request. At the first start it tells a story of some sixteen operations that go wrong in different ways, and\n" +
			"counts afterwards what really happened. Data that exists is used again, and the story not repeated.\n" +
			"A story that was ended in the middle is told anew at the next start, with operations of its own.\n\n" +
			"With --output json the first line on standard output says what is where, as soon as everything answers; the\n" +
			"story follows as one JSON object for each operation.",
		RunE: func(c *cobra.Command, _ []string) error { return a.dev(c.Context(), &o) },
	}
	f := c.Flags()
	f.StringVar(&o.data, "data", devData, "`FOLDER` of all data")
	f.StringVar(&o.listen, "listen", "", "where the API listens, `HOST:PORT` on loopback (default "+defaultListen+")")
	f.StringVar(&o.sandboxListen, "sandbox-listen", "", "where the sandbox listens, `HOST:PORT` on loopback (default "+defaultSandboxListen+")")
	f.StringVar(&o.logFormat, "log-format", "", "`FORM` of the log on standard error: text or json (default text on a terminal)")
	return c
}

// dev is a running `onefold dev`.
type dev struct {
	app      *app
	folder   devfolder.Folder
	log      *slog.Logger
	sandbox  *sandbox.Sandbox
	node     *deployment.Node
	token    string
	telling  int // which telling of the story is due, 0 for none
	api      net.Listener
	erp      net.Listener
	closings []func() error
}

func (a *app) dev(ctx context.Context, o *devOrder) (err error) {
	d := &dev{app: a}
	defer func() {
		for i := len(d.closings) - 1; i >= 0; i-- {
			err = errors.Join(err, d.closings[i]())
		}
	}()
	if d.log, err = a.devLog(o.logFormat); err != nil {
		return err
	}
	if d.folder, err = devfolder.Open(cmp.Or(o.data, devData), rand.Reader); err != nil {
		return failed(codeFileUnusable, "give another folder with --data", "%s", err)
	}
	if err := d.listen(ctx, o); err != nil {
		return err
	}
	if err := d.openSandbox(ctx); err != nil {
		return err
	}
	if err := d.openNode(ctx); err != nil {
		return err
	}
	return a.ended(d.run(ctx))
}

// devLog is dev's log: what a person does not have to see is left out, so that
// the story can be read.
func (a *app) devLog(format string) (*slog.Logger, error) {
	log, err := a.logger(format)
	if err != nil || format != "" {
		return log, err
	}
	if a.json {
		return slog.New(slog.NewJSONHandler(a.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})), nil
	}
	return slog.New(slog.NewTextHandler(a.Stderr, &slog.HandlerOptions{Level: slog.LevelError})), nil
}

// listen opens both listeners, on loopback: the token and the sandbox's admin
// API are for this machine.
func (d *dev) listen(ctx context.Context, o *devOrder) (err error) {
	if d.api, err = listen(ctx, cmp.Or(o.listen, defaultListen), "--listen"); err != nil {
		return err
	}
	d.closings = append(d.closings, closeQuietly(d.api))
	if d.erp, err = listen(ctx, cmp.Or(o.sandboxListen, defaultSandboxListen), "--sandbox-listen"); err != nil {
		return err
	}
	d.closings = append(d.closings, closeQuietly(d.erp))
	for _, l := range []net.Listener{d.api, d.erp} {
		if !isLoopback(l.Addr()) {
			return usage("for example: 127.0.0.1:0", "%s is not on loopback; dev is for this machine alone, serve is for others", l.Addr())
		}
	}
	return nil
}

// closeQuietly closes a listener that may be closed already.
func closeQuietly(l net.Listener) func() error {
	return func() error {
		if err := l.Close(); !errors.Is(err, net.ErrClosed) {
			return err
		}
		return nil
	}
}

func (d *dev) openSandbox(ctx context.Context) (err error) {
	d.sandbox, err = sandbox.Open(ctx, sandbox.Options{Path: d.folder.Sandbox(), Now: d.app.Now, LookupLag: devLag, Logger: d.log})
	if errors.Is(err, sandbox.ErrInUse) {
		return failed(codeFolderInUse, "end the other one, or give another folder with --data", "another onefold dev uses %s", d.folder.Path())
	}
	if err != nil {
		return sandboxFailure(err, d.folder.Sandbox())
	}
	d.closings = append(d.closings, d.sandbox.Close)
	return nil
}

func (d *dev) openNode(ctx context.Context) error {
	ref, err := d.folder.SecretReference()
	if err != nil {
		return err
	}
	bytes, err := deployment.ResolveSecret(ctx, ref, d.app.LookupEnv)
	if err != nil {
		return failed(codeFileUnusable, "remove the folder to begin anew", "the secret in %s: %s", d.folder.Path(), err)
	}
	secret, err := deployment.NewSecret(bytes)
	if err != nil {
		return failed(codeFileUnusable, "remove the folder to begin anew", "the secret in %s: %s", d.folder.Path(), err)
	}
	d.node, err = deployment.OpenNode(ctx, deployment.NodeOptions{
		Access: deployment.Access{
			Database: deployment.Database{Path: d.folder.Database()}, Now: d.app.Now, IDs: d.app.IDs, Log: d.log,
		},
		Secret: secret, Migrate: true, Prepare: d.prepare, Worker: d.app.workerName(), Scan: devScan,
		Allow:         []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")},
		SecretsFolder: d.folder.Secrets(), LookupEnv: d.app.LookupEnv, Boot: d.app.Boot, Version: thisVersion().Version, Log: d.log,
	})
	if err != nil {
		return err
	}
	d.closings = append(d.closings, d.node.Close)
	return nil
}

// prepare makes workspace, documents and token, or finds them.
func (d *dev) prepare(ctx context.Context, store onefold.Store) error {
	err := deployment.WorkspaceExists(ctx, store, examples.Workspace)
	if errors.Is(err, onefold.ErrWorkspaceUnknown) {
		_, err = store.CreateWorkspace(ctx, examples.Workspace)
	}
	if err != nil {
		return err
	}
	if err := d.publish(ctx, store); err != nil {
		return err
	}
	if err := d.findToken(ctx, store); err != nil {
		return err
	}
	some, _, err := store.List(ctx, onefold.Query{Workspace: examples.Workspace, Limit: 1})
	if err != nil {
		return err
	}
	d.telling, err = d.folder.BeginStory(len(some) == 0)
	return err
}

// publish publishes the examples, with the sandbox's address in the connection.
// Where an earlier release published other examples under the same versions,
// those stay.
func (d *dev) publish(ctx context.Context, store onefold.Store) error {
	docs, err := deployment.ReadExamples(d.sandboxURL())
	if err != nil {
		return err
	}
	_, _, err = deployment.Publish(ctx, store, deployment.Publication{Documents: docs, By: "dev", Today: d.app.Now()})
	if !errors.Is(err, onefold.ErrVersionImmutable) && !errors.Is(err, onefold.ErrDocumentInvalid) {
		return err
	}
	d.log.Warn("the folder's documents are of another release and stay; the address of the sandbox is renewed", "error", err.Error())
	var connections []contract.Document
	for i := range docs {
		if docs[i].Kind == contract.KindConnection {
			connections = append(connections, docs[i])
		}
	}
	_, _, err = deployment.Publish(ctx, store, deployment.Publication{Documents: connections, By: "dev", Today: d.app.Now()})
	return err
}

// devRoles are what dev's token may do.
func devRoles() []onefold.Role {
	return []onefold.Role{onefold.RoleSubmit, onefold.RoleRead, onefold.RoleOperate, onefold.RoleAdmin}
}

// findToken takes the token that the folder keeps, or makes one.
func (d *dev) findToken(ctx context.Context, store onefold.Store) error {
	kept, err := d.folder.Token()
	if err != nil {
		return err
	}
	if kept != "" {
		t, found, err := store.TokenByHash(ctx, api.HashToken(kept))
		if err != nil {
			return err
		}
		if found && t.RevokedAt == nil && (t.ExpiresAt == nil || d.app.Now().Before(*t.ExpiresAt)) {
			d.token = kept
			return nil
		}
	}
	d.token, _, err = deployment.NewToken(ctx, store, deployment.TokenOrder{
		Workspace: examples.Workspace, Name: "dev", Roles: devRoles(), Now: d.app.Now(), IDs: d.app.IDs, Random: rand.Reader,
	})
	if err != nil {
		return err
	}
	return d.folder.KeepToken(d.token)
}

func (d *dev) sandboxURL() string { return "http://" + d.erp.Addr().String() }

func (d *dev) apiURL() string { return "http://" + d.api.Addr().String() }

// run serves until ctx ends. The story plays beside it.
func (d *dev) run(ctx context.Context) error {
	work, stop := context.WithCancel(ctx)
	var group sync.WaitGroup
	defer group.Wait()
	defer stop()
	// The sandbox outlives the node's drain: calls in flight are still answered.
	erp, stopSandbox := context.WithCancel(context.WithoutCancel(ctx))
	defer stopSandbox()
	served := make(chan error, 1)
	group.Go(func() {
		served <- d.sandbox.Serve(erp, d.erp)
		stop()
	})
	err := d.node.Run(work, d.api, func() {
		d.announce()
		if d.telling > 0 {
			group.Go(func() { d.tellStory(work) })
		}
	})
	stopSandbox()
	return errors.Join(err, <-served)
}

// announce says what is where.
func (d *dev) announce() {
	d.app.announce(struct {
		API       string  `json:"api"`
		Console   *string `json:"console"`
		Sandbox   string  `json:"sandbox"`
		Token     string  `json:"token"`
		Workspace string  `json:"workspace"`
		Data      string  `json:"data"`
	}{d.apiURL(), nil, d.sandboxURL(), d.token, examples.Workspace, d.folder.Path()}, d.welcome)
}

// welcome is the announcement for a person.
func (d *dev) welcome(w io.Writer) {
	a := d.app
	fmt.Fprintf(w, "%s  everything on this machine; end it with Ctrl-C\n\n", a.color(bold, "onefold dev"))
	pairs(
		w,
		[2]string{"  API", d.apiURL() + "   described at " + d.apiURL() + "/openapi.json"},
		[2]string{"  sandbox", d.sandboxURL() + "   a fake ERP and bank; its own ledger: " + d.sandboxURL() + "/admin/effects"},
		[2]string{"  workspace", examples.Workspace},
		[2]string{"  token", d.token},
		[2]string{"  data", d.folder.Path() + "   remove it to begin anew"},
	)
	fmt.Fprintf(w, "\n%s\n\n  %s\n\n  %s\n\n", a.color(bold, "Try it, in another terminal:"), d.curlLine(), d.cliLine("ops list"))
	switch {
	case d.telling == 1:
		fmt.Fprintf(w, "%s\n", a.color(bold, "The story:"))
	case d.telling > 1:
		fmt.Fprintf(w, "%s\n", a.color(bold, "The story, anew, for it did not come to its end; what it made then is still there:"))
	default:
		fmt.Fprintln(w, "The story was told at an earlier start; its operations are still there.")
	}
}

func (d *dev) curlLine() string {
	return "curl -sS " + d.apiURL() + "/v1/operations -H 'Authorization: Bearer " + d.token + "' -H 'Idempotency-Key: my-first' " +
		"-H 'Content-Type: application/json' -H 'Prefer: wait=10' -d '" + `{"capability":"bills.create","request":` +
		`{"supplier_id":"S-1","invoice_number":"INV-1","total":"99.50","currency":"EUR"}}'`
}

// cliLine is a command line of this binary as it can be pasted.
func (d *dev) cliLine(command string) string {
	server := ""
	if d.apiURL() != defaultServer {
		server = " --server " + d.apiURL()
	}
	return envToken + "=" + d.token + " " + d.app.self() + " " + command + server
}
