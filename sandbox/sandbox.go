package sandbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// DefaultWindow is how long an idempotency key is remembered where Options.Window is 0.
const DefaultWindow = 24 * time.Hour

// ErrClosed says that the sandbox has been closed.
var ErrClosed = errors.New("sandbox: closed")

// Options say how a sandbox behaves. Only Now is required.
type Options struct {
	// Path is the SQLite file of ledger, request log and faults; it is made where it is missing. "" means a file in a
	// temporary folder that Close removes.
	Path string
	// Now gives the time of effects, windows and lags. It must be safe for concurrent use.
	Now func() time.Time
	// Wait lets d pass, or returns the context's error when that ends first. It serves only the faults' Before and
	// After. nil means a timer of the runtime.
	Wait func(ctx context.Context, d time.Duration) error
	// Window is how long an idempotency key is remembered, from the arrival of its first request; 0 means DefaultWindow.
	Window time.Duration
	// LookupLag is how long a new effect stays invisible to look-ups. Writes see it at once.
	LookupLag time.Duration
	// Token is the bearer token that the collections demand; "" lets everybody in. The admin API demands none.
	Token string
	// AllowDuplicateReferences names the collections (bills, orders, payments) in which one external_ref may be used again.
	AllowDuplicateReferences map[string]bool
	// Accept names the collections whose writes are answered 202 and end later, and how.
	Accept map[string]Settlement
	// AllowReset turns POST /admin/reset on.
	AllowReset bool
	// AllowRemote lets Listen and Serve take addresses that are not loopback. The admin API is open to everybody there,
	// under any name; only pages of another origin are refused.
	AllowRemote bool
	// Logger takes what the operator of the sandbox may want to see; nil means nothing. No bodies, no tokens.
	Logger *slog.Logger
	// Received, if set, is called on the request's goroutine once the request is in the log and before anything is done
	// about it; Performed, once an effect is committed and before the answer (not for what is only accepted). They are
	// for tests that must act at exactly that moment. They may block and may call the Sandbox, but not Close.
	Received  func(Request)
	Performed func(Effect)
}

func (o Options) check() error {
	switch {
	case o.Now == nil:
		return errors.New("sandbox: Options.Now is required")
	case o.Window < 0:
		return errors.New("sandbox: Options.Window is negative")
	case o.LookupLag < 0:
		return errors.New("sandbox: Options.LookupLag is negative")
	}
	for name := range o.AllowDuplicateReferences {
		if _, known := collectionNamed(name); !known {
			return fmt.Errorf("sandbox: Options.AllowDuplicateReferences: no collection %q", name)
		}
	}
	return nil
}

// Sandbox is the fake ERP and bank. It is made by Open and is safe for concurrent use.
type Sandbox struct {
	options Options
	store   *store
	log     *slog.Logger
	keys    keys
	life    context.Context // ends with Close; every wait ends with it
	end     context.CancelFunc
	sockets atomic.Int64 // connections accepted by Serve since Open

	mu      sync.Mutex // guards closed, and entering against closing
	closed  bool
	running sync.WaitGroup // requests and Serve calls
}

// Open opens or makes a sandbox. A file that another sandbox holds gives ErrInUse, one that is no ledger ErrForeignFile.
// The context counts for opening only.
func Open(ctx context.Context, o Options) (*Sandbox, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if o.Window == 0 {
		o.Window = DefaultWindow
	}
	if o.Wait == nil {
		o.Wait = waitTimer
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.AllowDuplicateReferences = maps.Clone(o.AllowDuplicateReferences) // the caller's may change
	var err error
	if o.Accept, err = checkSettlements(o.Accept); err != nil {
		return nil, err
	}
	st, err := openStore(ctx, o.Path)
	if err != nil {
		return nil, err
	}
	err = st.within(ctx, func(t transaction) error {
		_, err := t.exec("request.abandon")
		return err
	})
	if err != nil {
		return nil, errors.Join(err, st.close())
	}
	s := &Sandbox{options: o, store: st, log: o.Logger, keys: keys{held: map[keyName]string{}}}
	s.life, s.end = context.WithCancel(context.Background())
	return s, nil
}

// Close ends every wait, waits for the requests and Serve calls that run, and closes the file. Closing again does nothing.
func (s *Sandbox) Close() error {
	s.mu.Lock()
	again := s.closed
	s.closed = true
	s.mu.Unlock()
	if again {
		return nil
	}
	s.end()
	s.running.Wait()
	return s.store.close()
}

// enter counts the caller in, so that Close waits for it; it answers false once the sandbox is closed.
func (s *Sandbox) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.running.Add(1)
	return true
}

func (s *Sandbox) leave() { s.running.Done() }

// within runs work in one transaction of the file, unless the sandbox is closed. It is for callers from outside; an
// exchange uses the store itself, for it is counted in already and must finish while Close waits for it.
func (s *Sandbox) within(ctx context.Context, work func(transaction) error) error {
	if !s.enter() {
		return ErrClosed
	}
	defer s.leave()
	return s.store.within(ctx, work)
}

// Handler serves the collections and the admin API. It holds no state of its own: all Handlers of a sandbox are one.
// Faults that break the connection need an http.ResponseWriter that can be hijacked; elsewhere the request is aborted.
func (s *Sandbox) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.enter() {
			_ = refusal(http.StatusServiceUnavailable, "closed", "the sandbox is closed").write(w) // nobody is left to tell
			return
		}
		defer s.leave()
		if isAdmin(r.URL.Path) {
			s.serveAdmin(w, r)
			return
		}
		s.serveCollections(w, r)
	})
}

func waitTimer(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// keyName is an idempotency key within its scope, the account.
type keyName struct{ account, key string }

// keys are the idempotency keys whose requests are being handled at this moment, with the parameters of each.
type keys struct {
	mu   sync.Mutex
	held map[keyName]string
}

// take holds the key until release is called; calling that again does nothing, so that it can never free the key under
// a later request. Where the key is held already, release is nil and sameParameters compares.
func (k *keys) take(name keyName, parameters string) (release func(), sameParameters bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if held, busy := k.held[name]; busy {
		return nil, held == parameters
	}
	k.held[name] = parameters
	return sync.OnceFunc(func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		delete(k.held, name)
	}), true
}
