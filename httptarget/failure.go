package httptarget

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"

	"github.com/onefold-dev/onefold"
)

// The words of Exchange.Failure that this package uses.
const (
	failDNS        = "dns"
	failConnect    = "connect"
	failTLS        = "tls"
	failAddress    = "address_refused"
	failSecret     = onefold.FailureSecret
	failDeadline   = "deadline_before_send"
	failCanceled   = "canceled"
	failWrite      = "write"
	failNoAnswer   = "no_answer"
	failTimeout    = "timeout"
	failCutBody    = "cut_body"
	failTooLarge   = "too_large"
	failEncoding   = "bad_encoding"
	failProtocol   = "protocol"
	whereConnect   = "while the connection was made"
	whereTunnel    = "while the proxy made the connection"
	whereHandshake = "during the TLS handshake"
	whereGreeting  = "while HTTP/2 was begun"
	whereSend      = "before the request was sent"
	whereAnswer    = "before the answer began"
	whereHead      = "within the answer's head"
	whereBody      = "within the answer's body"
)

// failure is what went wrong: one of the words and one sentence. A detail is
// written here from what an error is, never from what it says: the texts of
// libraries repeat URLs, and those may hold a credential.
type failure struct{ word, detail string }

// failf makes a failure. Arguments must be free of secrets.
func failf(word, format string, args ...any) *failure {
	return &failure{word: word, detail: fmt.Sprintf(format, args...)}
}

// ended says that a context ended an exchange, or is nil where it did not. A
// caller's own deadline is a time-out like the request's.
func ended(ctx context.Context, where string) *failure {
	switch err := ctx.Err(); {
	case err == nil:
		return nil
	case errors.Is(err, context.DeadlineExceeded):
		return failf(failTimeout, "the time was over %s", where)
	default:
		return failf(failCanceled, "the caller gave up %s", where)
	}
}

// overran is ended with the limit of a part of the exchange named.
func overran(whole, part context.Context, limit time.Duration, word, where string) *failure {
	if whole.Err() == nil && part.Err() != nil {
		return failf(word, "%v were over %s", limit, where)
	}
	why := ended(whole, where)
	if why != nil && why.word == failTimeout {
		why.word = word
	}
	return why
}

// broken says in words how a connection broke.
func broken(err error) string {
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "it was refused"
	case errors.Is(err, syscall.ECONNRESET):
		return "it was reset"
	case errors.Is(err, syscall.EPIPE):
		return "the target had closed it"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "there is no way to it"
	case errors.Is(err, syscall.ETIMEDOUT):
		return "nobody answered"
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return "this process may open no more files"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return "this machine has no free port or address for it"
	case errors.Is(err, io.EOF):
		return "the target closed it"
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "the target closed it half-way"
	case errors.Is(err, net.ErrClosed):
		return "it was closed"
	}
	return "it failed"
}
