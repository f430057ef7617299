package onefold

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// Follower keeps what a process has compiled of the published documents in step
// with what its store holds: documents are published by other processes too, and
// whoever knows them a moment earlier admits operations under them. A ledger that
// has one (Config.Documents) reads the documents anew before it refuses anything
// because of them. Safe for concurrent use.
type Follower struct {
	source Documents
	load   func(docs []Document) error
	// turn is held by the one who looks. begun counts the looks, so that whoever
	// waited for the turn can tell whether one began after it had come.
	turn   chan struct{}
	begun  atomic.Uint64
	loaded atomic.Int64
	// broken is the revision whose documents could not be loaded, last is what the
	// last look came to, and fault why. Guarded by turn.
	broken int64
	fault  error
	last   error
}

// loadError is a set of documents that this process cannot use.
type loadError struct{ cause error }

func (e *loadError) Error() string { return e.cause.Error() }
func (e *loadError) Unwrap() error { return e.cause }

// Follow returns a follower of the documents that source holds, of which it has
// loaded none yet. load is given all of them, takes the place of those it was
// given before or, on an error, leaves those: contract.Registry.Load is made for
// it. load is never called twice at a time.
func Follow(source Documents, load func(docs []Document) error) *Follower {
	return &Follower{source: source, load: load, turn: make(chan struct{}, 1)}
}

// Revision is the revision of the documents that are loaded, 0 before any were.
func (f *Follower) Revision() int64 { return f.loaded.Load() }

// Load loads the documents of the source, unless those are loaded that it holds:
// for the start of a program and for whoever looks now and then. What could not be
// loaded before is tried again. Errors: the source's, and load's.
func (f *Follower) Load(ctx context.Context) error { return f.look(ctx, true) }

// Renew is Load for whoever met a name that is not known, however often that is.
// It costs one question for the documents' revision, which all those share who ask
// at the same time; the documents are read only if it is another one, and a set
// that could not be loaded is not read again. The error is an *Error:
// contract_unavailable where the newest documents cannot be loaded,
// store_unavailable; or it is that of ctx.
func (f *Follower) Renew(ctx context.Context) error {
	err := f.look(ctx, false)
	if _, unusable := errors.AsType[*loadError](err); unusable {
		return &Error{
			Code: CodeContractUnavailable, Message: "documents were published that cannot be loaded here", Cause: err,
			Hint: "the same key is safe to send again; the server's log says what is wrong with them", RetryAfter: time.Second,
		}
	}
	return unavailable(err)
}

// look looks once, or has the outcome of a look that began after it was called:
// one that began before may have asked before the publication.
func (f *Follower) look(ctx context.Context, again bool) error {
	seen := f.begun.Load()
	select {
	case f.turn <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("onefold: %w", ctx.Err())
	}
	defer func() { <-f.turn }()
	if !again && f.begun.Load() > seen {
		return f.last
	}
	f.begun.Add(1)
	// Others have this outcome too: it does not end with the one who looked.
	f.last = f.read(context.WithoutCancel(ctx), again)
	return f.last
}

// read asks for the revision first: what is published in between is taken up the
// next time.
func (f *Follower) read(ctx context.Context, again bool) error {
	revision, err := f.source.DocumentsRevision(ctx)
	switch {
	case err != nil:
		return err
	case revision == f.loaded.Load():
		return nil
	case revision == f.broken && !again:
		return f.fault
	}
	docs, err := f.source.AllDocuments(ctx)
	if err != nil {
		return err
	}
	if err := f.load(docs); err != nil {
		f.broken, f.fault = revision, &loadError{err}
		return f.fault
	}
	f.broken, f.fault = 0, nil
	f.loaded.Store(revision)
	return nil
}

// Renew takes up documents that others have published, if there are any
// (Config.Documents): for interfaces that are asked for a name which they do not
// know. Errors: those of Follower.Renew; none where nothing is followed.
func (l *Ledger) Renew(ctx context.Context) error {
	if l.cfg.Documents == nil {
		return nil
	}
	return l.cfg.Documents.Renew(ctx)
}

// bind is Contracts.Bind for what is about to be admitted, and reads the documents
// anew before it refuses. A refusal is then true of all that was published when the
// claim was looked up. Where the documents cannot be had it is not known what is
// published, and the answer says that instead.
func (l *Ledger) bind(ctx context.Context, s *Submission) (Binding, error) {
	find := func() (Binding, error) {
		return l.cfg.Contracts.Bind(s.Workspace, s.Capability, s.ContractVersion, s.Connection)
	}
	b, err := find()
	if err == nil && b.Terms().Mode != ModeDisabled {
		return b, nil
	}
	if l.cfg.Documents == nil {
		return b, err
	}
	if err := l.Renew(ctx); err != nil {
		return nil, err
	}
	return find()
}

// Pinned is Contracts.Pinned, and reads the documents anew before it gives up.
// What an operation runs under was published before it was admitted, so that a
// process which does not find it knows too little: it says nothing about the
// operation. Errors: contract_unavailable, with the operation and in Reason the
// code of what was not found; store_unavailable; that of ctx.
func (l *Ledger) Pinned(ctx context.Context, op *Operation) (Binding, error) {
	b, err := l.cfg.Contracts.Pinned(op)
	if err == nil {
		return b, nil
	}
	if failed := l.Renew(ctx); failed != nil && CodeOf(failed) != CodeContractUnavailable {
		return nil, failed
	}
	if b, err = l.cfg.Contracts.Pinned(op); err == nil {
		return b, nil
	}
	return nil, &Error{
		// The cause is kept as a text: errors.Is must not find "unknown" in it, which
		// would say of an operation's key that it is free.
		Code: CodeContractUnavailable, Reason: string(CodeOf(err)), Cause: errors.New(err.Error()), RetryAfter: time.Second,
		Operation: op.ID, State: op.State, Version: op.Version,
		Message: "the operation exists, and what it runs under cannot be loaded here: " + string(CodeOf(err)),
	}
}

// notCompared is why a repeat is not answered whose contract cannot be loaded: the
// operation is there, and its key is not free.
func notCompared(err error, mayRead bool) error {
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Code != CodeContractUnavailable {
		return err
	}
	told := *e
	told.Message = "the key is that of an operation, and what that runs under cannot be loaded here (" + e.Reason + "): nothing was compared or started"
	told.Hint = "the same key is safe to send again; another key would be another operation"
	if !mayRead {
		told.State, told.Version = "", 0
	}
	return &told
}
