package sandbox

import (
	"context"
	"fmt"
	"net/http"
)

// This file is what faults do to an exchange: which answer is put in the place of the ledger's, how long things take,
// and how an answer is spoilt on its way. The ledger knows nothing of it but Lag and Twice.

// replacement gives the answer that the fault puts in the place of the ledger's, if it does.
func (x *exchange) replacement() (answer, bool) {
	f := x.fault
	switch f.Kind {
	case Status:
		said := refusal(f.Status, "fault", fmt.Sprintf("the sandbox was told to answer %d", f.Status))
		return f.dress(said), true
	case HTML:
		page := fmt.Sprintf("<!DOCTYPE html>\n<html><head><title>%[1]d</title></head><body><h1>%[1]d %[2]s</h1></body></html>\n",
			f.Status, http.StatusText(f.Status))
		said := answer{status: f.Status, headers: map[string]string{"Content-Type": "text/html; charset=utf-8"}, body: []byte(page)}
		return f.dress(said), true
	case Unauthorized:
		return unauthorized(), true
	case Redirect:
		said := refusal(http.StatusTemporaryRedirect, "redirect", "here, again")
		return said.with("Location", x.r.URL.RequestURI()), true
	default:
		return answer{}, false
	}
}

// dress gives the answer the body and headers that the fault asks for.
func (f Fault) dress(said answer) answer {
	if f.Body != "" {
		said.body = []byte(f.Body)
	}
	for name, value := range f.Headers {
		said = said.with(http.CanonicalHeaderKey(name), value)
	}
	return said
}

// late says that the answer waits for something after the effect, so that its outcome is not known at the commit.
func (x *exchange) late() bool { return x.fault.After > 0 || x.fault.Kind == Hang }

// waitBefore lets Before pass. A client that leaves does not end it: the request works on, as at a real system.
func (x *exchange) waitBefore() error {
	if x.fault.Before == 0 {
		return nil
	}
	if err := x.sandbox.options.Wait(x.life, x.fault.Before); err != nil {
		return fmt.Errorf("%w: %w", errEnded, err)
	}
	return nil
}

// waitAfter lets After pass, and under Hang everything else too. It ends when the client leaves.
func (x *exchange) waitAfter() error {
	ctx, end := context.WithCancel(x.r.Context())
	defer end()
	defer context.AfterFunc(x.life, end)()
	if x.fault.After > 0 {
		if err := x.sandbox.options.Wait(ctx, x.fault.After); err != nil {
			return fmt.Errorf("%w: %w", errEnded, err)
		}
	}
	if x.fault.Kind == Hang {
		<-ctx.Done()
		return errEnded
	}
	return nil
}

// outcome says what the log keeps about an answer that goes out under the fault.
func (x *exchange) outcome(said answer) (Outcome, int) {
	switch x.fault.Kind {
	case DropAfterEffect, DropBefore, Hang:
		return Dropped, 0
	case Cut, WrongLength:
		return CutShort, said.status
	default:
		return Answered, said.status
	}
}

// deliver sends the answer, or what the fault leaves of it.
func (x *exchange) deliver(said answer) {
	switch x.fault.Kind {
	case DropAfterEffect:
		resetConnection(x.w)
	case DropBefore:
		closeConnection(x.w, nil)
	case Cut:
		all, head := said.wire(len(said.body), x.sandbox.options.Now())
		end := x.fault.Bytes
		if x.fault.Of == OfBody {
			end += head
		}
		// At least the last byte is missing, so that the fault never silently does nothing.
		closeConnection(x.w, all[:min(end, len(all)-1)])
	case WrongLength:
		all, _ := said.wire(len(said.body)+x.fault.Bytes, x.sandbox.options.Now())
		closeConnection(x.w, all)
	default:
		x.send(said)
	}
}

// send writes the answer. The log says "answered" by then; a client that is found to be gone makes that "dropped".
func (x *exchange) send(said answer) {
	if err := said.write(x.w); err != nil {
		x.sandbox.log.Debug("the answer could not be sent", "request", x.request.Seq, "error", err)
		x.recordDrop()
	}
}

// fail is for a fault of the sandbox's own: its file cannot be read or written.
func (x *exchange) fail(what string, err error) {
	x.sandbox.log.Error("the sandbox failed", "cannot", what, "request", x.request.Seq, "error", err)
	said := refusal(http.StatusInternalServerError, "internal", "the sandbox cannot "+what)
	if x.request.Seq != 0 {
		if err := x.sandbox.store.within(x.store, func(t transaction) error { return x.finishAs(t, Answered, said.status) }); err != nil {
			x.sandbox.log.Error("cannot log an outcome", "request", x.request.Seq, "error", err)
		}
	}
	_ = said.write(x.w) // nothing is left to be done about it
}

// finish logs the outcome of an answer by itself.
func (x *exchange) finish(said answer) error {
	return x.sandbox.store.within(x.store, func(t transaction) error { return x.finishIn(t, said) })
}

func (x *exchange) finishIn(t transaction, said answer) error {
	outcome, status := x.outcome(said)
	return x.finishAs(t, outcome, status)
}

func (x *exchange) finishAs(t transaction, outcome Outcome, status int) error {
	_, err := t.exec("request.finish", x.request.Seq, string(outcome), status)
	return err
}

func (x *exchange) recordDrop() {
	err := x.sandbox.store.within(x.store, func(t transaction) error { return x.finishAs(t, Dropped, 0) })
	if err != nil {
		x.sandbox.log.Error("cannot log an outcome", "request", x.request.Seq, "error", err)
	}
}
