package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/cmd/onefold/internal/deployment"
	"github.com/onefold-dev/onefold/contract"
	"github.com/onefold-dev/onefold/runner"
)

// nodeOrder is what serve and worker were asked for.
type nodeOrder struct {
	db, listen, apply, secretsDir, logFormat string
	proxy                                    string
	noRunner, migrate                        bool
	allow                                    []string
	lease, scan, straggler, clockError       time.Duration
	drain                                    time.Duration
}

func newServe(a *app) *cobra.Command {
	var o nodeOrder
	c := &cobra.Command{
		Use: "serve", Short: "Serve the API and carry operations out", Args: wants(),
		Long: "Serve the HTTP API and, unless --no-runner is given, carry operations out. One runner works on a database;\n" +
			"other commands work beside it. It needs the deployment's secret (" + envSecret + "), the one that the database was\n" +
			"first used with, and a database whose migrations are current.\n\n" +
			"SIGTERM drains: nothing new is admitted or begun, calls in flight finish up to --drain-timeout, the rest is\n" +
			"recorded as uncertain, and the exit code is 0. A second signal ends the process at once.\n\n" +
			"With --output json the first line on standard output is {\"api\": URL}, as soon as everything answers; logs go\n" +
			"to standard error.",
		RunE: func(c *cobra.Command, _ []string) error { return a.serve(c, &o) },
	}
	f := c.Flags()
	f.StringVar(&o.listen, "listen", "", "where the API listens, `HOST:PORT` ("+envListen+"; default "+defaultListen+")")
	f.StringVar(&o.apply, "apply", "", "`PATH` of a file or folder of documents to publish at the start")
	f.BoolVar(&o.noRunner, "no-runner", false, "serve the API alone; a worker carries operations out")
	f.BoolVar(&o.migrate, "migrate", false, "bring the database up to date at the start, or make it")
	addNodeFlags(c, &o)
	return c
}

func newWorker(a *app) *cobra.Command {
	var o nodeOrder
	c := &cobra.Command{
		Use: "worker", Short: "Carry operations out, without an API", Args: wants(),
		Long: "Carry operations out, without an API: the other half of `serve --no-runner`. With --output json the first line\n" +
			"on standard output is {\"worker\": NAME}, as soon as it works. SIGTERM drains, as with serve.",
		RunE: func(c *cobra.Command, _ []string) error { return a.worker(c, &o) },
	}
	addNodeFlags(c, &o)
	return c
}

// addNodeFlags are the flags of serve and worker.
func addNodeFlags(c *cobra.Command, o *nodeOrder) {
	addDB(c, &o.db)
	f := c.Flags()
	f.StringArrayVar(&o.allow, "allow-cidr", nil, "address range, as `CIDR`, that targets may lie in although it is special (loopback, private, …); repeatable ("+envAllowCIDR+")")
	f.StringVar(&o.proxy, "proxy", "", "forward proxy, as `URL`, through which every target is reached by CONNECT ("+envProxy+", which may hold a password, too); its address needs --allow-cidr where it is special")
	f.StringVar(&o.secretsDir, "secrets-dir", "", "`FOLDER` of file: secrets, one sub-folder for each workspace")
	o.lease, o.scan, o.drain = runner.DefaultLease, runner.DefaultScan, runner.DefaultDrain
	addRanged(f, durationFlag{&o.lease, leastLease, mostTiming}, "lease", "how long a worker holds an operation without a sign of life")
	addRanged(f, durationFlag{&o.scan, leastScan, mostScan}, "scan", "how often expired leases and due work are looked for")
	addRanged(f, durationFlag{&o.drain, 0, mostTiming}, "drain-timeout", "how long calls in flight may take at the end")
	addStraggler(c, &o.straggler)
	o.clockError = contract.DefaultClockError
	addRanged(f, durationFlag{&o.clockError, leastTiming, mostTiming}, "clock-error", "how wrong this machine's clock may be")
	f.StringVar(&o.logFormat, "log-format", "", "`FORM` of the log on standard error: text or json (default: text on a terminal)")
}

func addStraggler(c *cobra.Command, straggler *time.Duration) {
	*straggler = contract.DefaultStraggler
	addRanged(c.Flags(), durationFlag{straggler, leastLease, mostPatience}, "straggler", "when an attempt counts as closed whose worker went silent")
}

// logger is the log on standard error.
func (a *app) logger(format string) (*slog.Logger, error) {
	switch format {
	case "":
		format = outputText
		if a.json || !a.ErrTerminal {
			format = outputJSON
		}
	case outputText, outputJSON:
	default:
		return nil, usage("it is text or json", "--log-format: there is no form %q", format)
	}
	if format == outputJSON {
		return slog.New(slog.NewJSONHandler(a.Stderr, nil)), nil
	}
	return slog.New(slog.NewTextHandler(a.Stderr, nil)), nil
}

// secret resolves the deployment's secret, which serve and worker cannot do
// without.
func (a *app) secret(ctx context.Context) (deployment.Secret, error) {
	const hint = "for example: " + envSecret + "=file:/etc/onefold/secret, with at least 16 random bytes in it"
	ref := a.env(envSecret)
	if ref == "" {
		return deployment.Secret{}, usage(hint, "there is no deployment secret: set %s to env:NAME or file:PATH", envSecret)
	}
	bytes, err := deployment.ResolveSecret(ctx, ref, a.LookupEnv)
	if err != nil {
		return deployment.Secret{}, usage(hint, "%s: %s", envSecret, err)
	}
	s, err := deployment.NewSecret(bytes)
	if err != nil {
		return s, usage(hint, "%s: %s", envSecret, err)
	}
	return s, nil
}

// node takes the settings of serve and worker together.
func (a *app) node(c *cobra.Command, o *nodeOrder) (deployment.NodeOptions, error) {
	db, err := a.database(c, o.db)
	if err != nil {
		return deployment.NodeOptions{}, err
	}
	allow, err := a.allowed(o.allow)
	if err != nil {
		return deployment.NodeOptions{}, err
	}
	proxy, err := a.proxy(o.proxy)
	if err != nil {
		return deployment.NodeOptions{}, err
	}
	log, err := a.logger(o.logFormat)
	if err != nil {
		return deployment.NodeOptions{}, err
	}
	secret, err := a.secret(c.Context())
	if err != nil {
		return deployment.NodeOptions{}, err
	}
	access := a.installation(db)
	access.Log = log
	return deployment.NodeOptions{
		Access: access, Secret: secret, Migrate: o.migrate, Worker: a.workerName(),
		Lease: o.lease, Scan: o.scan, Drain: max(o.drain, time.Nanosecond),
		Deployment: contract.Deployment{Straggler: o.straggler, ClockError: o.clockError},
		Allow:      allow, Proxy: proxy, SecretsFolder: o.secretsDir, LookupEnv: a.LookupEnv, Boot: a.Boot, Version: thisVersion().Version, Log: log,
	}, nil
}

// workerName names this process in leases and timelines.
func (a *app) workerName() string { return cmp.Or(a.Hostname, "worker") + "-" + strconv.Itoa(a.PID) }

func (a *app) serve(c *cobra.Command, o *nodeOrder) error {
	options, err := a.node(c, o)
	if err != nil {
		return err
	}
	if o.noRunner {
		options.Worker = ""
	}
	if o.apply != "" {
		options.Prepare = func(ctx context.Context, store onefold.Store) error {
			return a.publishFolder(ctx, store, o.apply, options.Deployment)
		}
	}
	if o.migrate {
		if _, _, err := options.Access.Migrate(c.Context()); err != nil {
			return err
		}
	}
	l, err := listen(c.Context(), cmp.Or(o.listen, a.env(envListen), defaultListen), "--listen")
	if err != nil {
		return err
	}
	node, err := deployment.OpenNode(c.Context(), options)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	address := "http://" + reachable(l.Addr())
	err = node.Run(c.Context(), l, func() {
		a.announce(map[string]string{"api": address}, func(w io.Writer) { fmt.Fprintf(w, "the API answers at %s\n", address) })
	})
	return a.ended(errors.Join(err, node.Close()))
}

func (a *app) worker(c *cobra.Command, o *nodeOrder) error {
	options, err := a.node(c, o)
	if err != nil {
		return err
	}
	node, err := deployment.OpenNode(c.Context(), options)
	if err != nil {
		return err
	}
	err = node.Run(c.Context(), nil, func() {
		a.announce(map[string]string{"worker": options.Worker}, func(w io.Writer) { fmt.Fprintf(w, "%s carries operations out\n", options.Worker) })
	})
	return a.ended(errors.Join(err, node.Close()))
}

// ended says in words why a node could not go on.
func (a *app) ended(err error) error {
	if errors.Is(err, onefold.ErrRunnerTaken) {
		return failed(codeRunnerTaken, runnerHint, runnerDetail)
	}
	return err
}

// listen opens a listener; a port that is taken is told as such.
func listen(ctx context.Context, address, flag string) (net.Listener, error) {
	if _, _, err := net.SplitHostPort(address); err != nil {
		return nil, usage("for example: "+flag+" 127.0.0.1:8080", "%q is no address to listen on", address)
	}
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, failed(codeAddressInUse, "choose another with "+flag+", or 127.0.0.1:0 for any free port", "%s is in use", address)
	}
	if err != nil {
		return nil, failed(codeAddressUnusable, "choose another with "+flag+", or 127.0.0.1:0 for any free port", "cannot listen on %s: %s", address, err)
	}
	return l, nil
}

// reachable is a listener's address as a client on this machine can use it.
func reachable(addr net.Addr) string {
	at, err := netip.ParseAddrPort(addr.String())
	if err != nil || !at.Addr().IsUnspecified() {
		return addr.String()
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(int(at.Port())))
}

// isLoopback tells whether only this machine reaches a listener.
func isLoopback(addr net.Addr) bool {
	at, err := netip.ParseAddrPort(addr.String())
	return err == nil && at.Addr().Unmap().IsLoopback()
}
