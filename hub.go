package onefold

import (
	"context"
	"sync"
	"time"
)

// hub carries word of committed steps within one process: to callers that wait
// for an operation, and to the runner that may have new work. It is a hint
// only; whoever waits also asks the store now and then, so that steps of other
// processes are seen.
type hub struct {
	mu      sync.Mutex
	waiting map[string][]chan Operation
	watch   func(op Operation, fresh bool)
	kick    func()
	take    takeAhead
}

// takeAhead asks for a place to carry out what is about to be admitted.
type takeAhead func(ctx context.Context, op *Operation, b Binding, request []byte, f Frozen) *Ahead

func newHub() *hub { return &hub{waiting: map[string][]chan Operation{}} }

func (h *hub) admitted(op Operation) { h.tell(op, true) }
func (h *hub) changed(op Operation)  { h.tell(op, false) }

func (h *hub) tell(op Operation, fresh bool) {
	h.mu.Lock()
	watch := h.watch
	for _, c := range h.waiting[op.ID] {
		select {
		case <-c: // an older word that nobody read yet
		default:
		}
		c <- op
	}
	h.mu.Unlock()
	if watch != nil {
		watch(op, fresh)
	}
}

func (h *hub) join(id string) chan Operation {
	c := make(chan Operation, 1)
	h.mu.Lock()
	h.waiting[id] = append(h.waiting[id], c)
	h.mu.Unlock()
	return c
}

func (h *hub) leave(id string, c chan Operation) {
	h.mu.Lock()
	defer h.mu.Unlock()
	left := h.waiting[id][:0]
	for _, other := range h.waiting[id] {
		if other != c {
			left = append(left, other)
		}
	}
	if len(left) == 0 {
		delete(h.waiting, id)
		return
	}
	h.waiting[id] = left
}

// Watch gives every operation that this ledger admits or changes to watch, and
// every Kick to kick, in the caller's goroutine: they must not block. One
// watcher at a time; nil ends it.
func (l *Ledger) Watch(watch func(op Operation, admitted bool), kick func()) {
	l.hub.mu.Lock()
	l.hub.watch, l.hub.kick = watch, kick
	l.hub.mu.Unlock()
}

// TakeAhead lets take be asked for a place (Worker.Ahead) whenever this ledger is
// about to admit an operation that nothing holds: the operation as it will be
// admitted, what it runs under, and its request as submitted and as it goes out.
// It is asked in the caller's goroutine and gives nil where there is no place. nil
// ends it.
func (l *Ledger) TakeAhead(take func(ctx context.Context, op *Operation, b Binding, request []byte, f Frozen) *Ahead) {
	l.hub.mu.Lock()
	l.hub.take = take
	l.hub.mu.Unlock()
}

// Kick tells the runner of this process, if there is one, that there may be work
// that it has not heard of: a connection was resumed, a transaction committed.
// Without it the work is found at the next scan.
func (l *Ledger) Kick() {
	l.hub.mu.Lock()
	kick := l.hub.kick
	l.hub.mu.Unlock()
	if kick != nil {
		kick()
	}
}

// Between these waits a waiting caller asks the store itself, for steps that
// other processes made.
const (
	waitPollFirst = 50 * time.Millisecond
	waitPollMax   = time.Second
)

// Wait returns the operation as soon as done says so of it, or as it is when the
// context ends; a context that ends is no error.
func (l *Ledger) Wait(ctx context.Context, workspace, id string, done func(*Operation) bool) (Operation, error) {
	c := l.hub.join(id)
	defer l.hub.leave(id, c)
	poll := waitPollFirst
	op, err := l.Operation(ctx, workspace, id)
	for err == nil && !done(&op) {
		timer := time.NewTimer(poll)
		select {
		case op = <-c:
			timer.Stop()
			continue
		case <-ctx.Done():
			timer.Stop()
			return op, nil
		case <-timer.C:
			poll = min(2*poll, waitPollMax)
		}
		var fresh Operation
		if fresh, err = l.Operation(ctx, workspace, id); err == nil {
			op = fresh
		} else if ctx.Err() != nil {
			return op, nil
		}
	}
	return op, err
}

// Rested tells that waiting any longer needs something other than time: the
// operation is settled, held, or with a person (Prefer: wait).
func Rested(op *Operation) bool {
	return op.Settled() || len(op.Holds) > 0 || op.State == Uncertain && op.openReview("") != nil
}
