package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/onefold-dev/onefold"
)

const (
	// maxWait is the longest wait for an operation, in seconds (section 4).
	maxWait = 60
	// maxWaiting is how many calls may wait for an operation at once: each holds a
	// connection and some kilobytes. Further ones are answered at once.
	maxWaiting = 10_000
	// maxPage and defaultPage bound a page of a list (section 4).
	maxPage     = 200
	defaultPage = 50
	// maxCursor bounds a cursor: ours have some hundred characters.
	maxCursor = 512
	// envelopeRoom is what a submission may have beside its request: metadata of
	// onefold.MaxMetadata bytes, with room for escapes, and the few other members.
	envelopeRoom = 64 << 10
	// maxRequest is the default for Config.MaxRequest (I10).
	maxRequest = 1 << 20
	// maxBatches is how many batches are under way at once; further ones wait. One
	// alone keeps the store's writer busy, and holds its body some three times over.
	maxBatches = 2
	// readyTimeout bounds one readiness check: whoever asks is a machine that asks
	// again.
	readyTimeout = 5 * time.Second
)

// Catalog is what the interface shows of the published documents. A workspace
// sees its own connections alone. Implementations are safe for concurrent use.
type Catalog interface {
	// Capabilities lists the published capabilities by name, with the workspace's
	// connections that serve them.
	Capabilities(workspace string) []onefold.CapabilityInfo
	// Targets lists the published targets by name.
	Targets() []onefold.TargetInfo
	// Connections lists the workspace's connections by name.
	Connections(workspace string) []onefold.ConnectionInfo
	// Agreement writes the agreement of the newest version of a capability over a
	// connection (I33). Errors: capability_unknown, connection_unknown.
	Agreement(workspace, capability, connection string) (onefold.Agreement, error)
}

// Publisher publishes documents for the interface. It is optional.
type Publisher interface {
	// Publish reads, checks and stores documents, all or none. by is the principal,
	// workspace what it may publish connections of ("" for the deployment, which
	// may publish everything). With dryRun nothing is stored. Errors:
	// document_invalid and not_supported_yet with faults, version_immutable,
	// not_permitted for a document that the workspace may not publish.
	Publish(ctx context.Context, workspace, by string, files []SourceFile, dryRun bool) (Publication, error)
}

// SourceFile is one file of documents, as its author wrote it.
type SourceFile struct {
	Name string
	Text []byte
}

// Publication is what a publication did.
type Publication struct {
	// Stored are the documents that are new; Unchanged were there already.
	Stored    []DocumentName `json:"stored"`
	Unchanged []DocumentName `json:"unchanged"`
	// Warnings are what the documents' checks found worth saying.
	Warnings []string `json:"warnings"`
	DryRun   bool     `json:"dry_run"`
}

// DocumentName names one document.
type DocumentName struct {
	Kind      string `json:"kind"`
	Workspace string `json:"workspace"` // of a connection, else empty
	Name      string `json:"name"`
	Version   int    `json:"version"` // of a connection: its revision
}

// Config is what a server needs.
type Config struct {
	Ledger  *onefold.Ledger
	Catalog Catalog
	// Publisher is nil where documents are published on the database alone; then
	// POST /v1/documents answers not_found.
	Publisher Publisher
	// Logger gets one line for each call, and the causes of our own faults.
	Logger *slog.Logger
	// Now is the clock of token expiry and of durations in the log.
	Now func() time.Time
	// Ready is asked by /readyz beside the store and its migrations, such as for the
	// connections' secrets; nil means that nothing else is needed. Whoever probes may
	// ask often, so that it should answer from what it knows. Its error's text goes
	// to the log alone; the answer is the same whatever is missing.
	Ready func(context.Context) error
	// MaxRequest is the longest request in bytes, 0 for 1 MiB (I10). It should be
	// the contracts' own.
	MaxRequest int
	// Version of the product, for /openapi.json.
	Version string
}

// Server is the HTTP interface. It is an http.Handler, safe for concurrent use.
type Server struct {
	cfg     Config
	ledger  *onefold.Ledger
	routes  []route
	openapi []byte
	cursors *cursors
	touched touches
	batches chan struct{} // holds one for each batch under way
	waiting atomic.Int64
	// draining ends when the server drains: waiting calls are answered then.
	draining context.Context
	drain    context.CancelFunc
}

// New makes a server.
func New(cfg Config) (*Server, error) {
	if cfg.Ledger == nil || cfg.Catalog == nil || cfg.Logger == nil || cfg.Now == nil {
		return nil, errors.New("api: a server needs a ledger, a catalog, a logger and a clock")
	}
	if cfg.MaxRequest <= 0 {
		cfg.MaxRequest = maxRequest
	}
	cursors, err := newCursors(cfg.Ledger.Deployment())
	if err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg, ledger: cfg.Ledger, routes: routes(), cursors: cursors, batches: make(chan struct{}, maxBatches)}
	s.draining, s.drain = context.WithCancel(context.Background())
	s.openapi = document(s.routes, cfg.Version)
	return s, nil
}

// Drain makes /readyz fail, refuses new admissions, and answers calls that wait.
// Calls that come later are served.
func (s *Server) Drain() {
	s.ledger.Drain()
	s.drain()
}

// HTTPServer returns a server for this handler with time-outs that fit it: a
// slow client cannot hold a connection for ever, and the longest wait still gets
// its answer. The time to read is as long as the time to write, because net/http
// takes a call for abandoned when it runs out, though its body is long in. The
// caller listens, and shuts it down.
func (s *Server) HTTPServer() *http.Server {
	return &http.Server{
		Handler:           s,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       (maxWait + 30) * time.Second,
		WriteTimeout:      (maxWait + 30) * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    32 << 10,
		ErrorLog:          slog.NewLogLogger(s.cfg.Logger.Handler(), slog.LevelWarn),
	}
}

// ServeHTTP answers one call.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := &call{server: s, r: r, ctx: r.Context(), began: s.cfg.Now(), id: s.ledger.NewID("req")}
	rep := s.guarded(c, w)
	c.write(w, rep)
	c.log(rep)
}

// guarded answers a call; a panic in it is our fault and becomes internal.
func (s *Server) guarded(c *call, w http.ResponseWriter) (rep *reply) {
	defer func() {
		if c.release != nil {
			c.release()
		}
	}()
	defer func() {
		caught := recover()
		if caught == nil {
			return
		}
		if caught == http.ErrAbortHandler { //nolint:errorlint // the sentinel is compared, as net/http does
			panic(caught)
		}
		rep = c.problem(panicked(caught))
	}()
	rep, err := s.answer(c, w)
	if err != nil {
		return c.problem(err)
	}
	return rep
}

// answer finds the route and judges the call in the one order (I3a).
func (s *Server) answer(c *call, w http.ResponseWriter) (*reply, error) {
	if err := s.match(c); err != nil {
		return nil, err
	}
	if c.route.roles != nil {
		if err := s.authenticate(c); err != nil {
			return nil, err
		}
		if err := c.authorize(); err != nil {
			return nil, err
		}
	}
	if err := c.read(w); err != nil {
		return nil, err
	}
	return c.route.serve(s, c)
}
