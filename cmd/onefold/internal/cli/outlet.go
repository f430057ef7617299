package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// outlet is standard output, as all commands write to it. It keeps the first error:
// what could not be written is gone, whoever wrote it and whether or not they
// looked, and the process must not end as if it had been read. After an error it
// takes nothing more, so that no reader is given a text with a hole. Safe for
// concurrent use.
type outlet struct {
	to io.Writer

	mu   sync.Mutex
	lost *outputError
}

// outputError is that an answer, or the rest of one, could not be written.
type outputError struct{ cause error }

// Error says so, and why.
func (e *outputError) Error() string {
	cause := e.cause
	if at, ok := errors.AsType[*os.PathError](cause); ok {
		cause = at.Err
	}
	return fmt.Sprintf("the answer cannot be written to standard output: %s", cause)
}

// Unwrap returns the cause.
func (e *outputError) Unwrap() error { return e.cause }

// Write writes, unless a write has failed before.
func (o *outlet) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.lost != nil {
		return 0, o.lost
	}
	n, err := o.to.Write(p)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	if err != nil {
		o.lost = &outputError{err}
		return n, o.lost
	}
	return n, nil
}

// forget makes the outlet try again, as if nothing had gone wrong.
func (o *outlet) forget() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.lost = nil
}

// unwritten is the error of what was written so far, nil where all of it was.
func (a *app) unwritten() error {
	o, ok := a.Stdout.(*outlet)
	if !ok {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.lost == nil {
		return nil
	}
	return o.lost
}

// isUnwritten tells whether an error is that of standard output.
func isUnwritten(err error) bool {
	_, is := errors.AsType[*outputError](err)
	return is
}

// readerLeft tells whether whoever read the output has gone, as `head` does when it
// has seen enough. They want to be told nothing.
func readerLeft(err error) bool { return errors.Is(err, syscall.EPIPE) }

// announce tells, in the form of an answer, where something that runs from now on
// can be reached. Standard output that takes nothing is no reason not to run: then
// it is told on standard error, and does not count any more.
func (a *app) announce(value any, text func(w io.Writer)) {
	err := a.answer(value, text)
	if err == nil {
		return
	}
	if o, ok := a.Stdout.(*outlet); ok {
		o.forget()
	}
	a.note("%s", err)
	_ = a.writeAnswer(a.Stderr, value, text)
}

// outliving lets the process outlive a broken standard output until the returned
// function is called: for a command that has something to do about an answer that
// nobody read. Everything else ends as tools in a pipeline do, by the signal.
func outliving() (done func()) {
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, syscall.SIGPIPE)
	return func() { signal.Stop(broken) }
}
