package sandbox

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// Limits of a request.
const (
	MaxBody    = 1 << 20 // bytes of a request's body: far beyond any bill
	MaxKey     = 255     // bytes of an Idempotency-Key, as at well-known providers
	maxAccount = 64      // bytes of an account's name

	maxPassedOver = 8 << 20 // bytes of an oversized body that are read for politeness
)

// exchange is one request and what becomes of it.
type exchange struct {
	sandbox *Sandbox
	w       http.ResponseWriter
	r       *http.Request
	life    context.Context // ends with the sandbox or the Serve call, not with the client
	store   context.Context // for transactions: an effect is not undone because the client left

	request     Request
	collection  collection
	routed      bool   // the path is one of ours
	id          string // the path names one record
	externalRef string
	keyProblem  string
	members     []member
	memberError error
	body        []byte
	fault       Fault // Kind "" where there is none
}

// serveCollections takes one request through its three steps: logged, handled, answered.
func (s *Sandbox) serveCollections(w http.ResponseWriter, r *http.Request) {
	x := &exchange{sandbox: s, w: w, r: r, life: s.lifeOf(r), store: context.WithoutCancel(r.Context())}
	x.request = Request{At: s.options.Now().UTC(), Connection: socketOf(r), Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery}
	x.route()
	x.readKey()
	tooLarge := x.readBody()
	x.readReference()
	x.request.Outcome = Pending
	switch {
	case tooLarge:
		x.request.Outcome, x.request.Status = Answered, http.StatusRequestEntityTooLarge
	case !x.request.Complete:
		x.request.Outcome = Dropped
	}
	if err := x.register(); err != nil {
		x.fail("log the request", err)
		return
	}
	if s.options.Received != nil {
		s.options.Received(x.request)
	}
	switch {
	case tooLarge:
		x.send(refusal(http.StatusRequestEntityTooLarge, "too_large", fmt.Sprintf("a body has at most %d bytes", MaxBody)).
			with("Connection", "close"))
	case !x.request.Complete:
		closeConnection(w, nil)
	default:
		x.run()
	}
}

// route reads the path: [/acct/{name}]/{collection}[/{id}].
func (x *exchange) route() {
	rest := x.request.Path
	if after, prefixed := strings.CutPrefix(rest, "/acct/"); prefixed {
		name, tail, _ := strings.Cut(after, "/")
		if !isAccount(name) {
			return
		}
		x.request.Account, rest = name, "/"+tail
	}
	name, id, single := strings.Cut(strings.TrimPrefix(rest, "/"), "/")
	found, known := collectionNamed(name)
	if !known || (single && id == "") || strings.Contains(id, "/") {
		return
	}
	x.collection, x.id, x.routed = found, id, true
	x.request.Collection = name
}

func isAccount(name string) bool {
	return name != "" && len(name) <= maxAccount && strings.IndexFunc(name, func(r rune) bool {
		plain := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.", r)
		return !plain
	}) < 0
}

func (x *exchange) readKey() {
	values := x.r.Header.Values("Idempotency-Key")
	if len(values) == 0 {
		return
	}
	x.request.IdempotencyKey = values[0]
	switch {
	case len(values) > 1:
		x.keyProblem = "Idempotency-Key is given more than once"
	case values[0] == "" || len(values[0]) > MaxKey:
		x.keyProblem = fmt.Sprintf("Idempotency-Key has 1 to %d bytes", MaxKey)
	}
}

// readBody reads the body and notes whether it arrived whole.
func (x *exchange) readBody() (tooLarge bool) {
	body, tooLarge, err := readLimited(x.w, x.r)
	x.body = body
	x.request.BodyDigest, x.request.BodyBytes = digest(body), int64(len(body))
	x.request.Complete = err == nil && !tooLarge
	return tooLarge
}

// readLimited reads a body of at most MaxBody bytes, within bodyTimeout. Of a larger one it gives one byte more than the
// limit and passes over a bounded rest, so that an ordinary client, which sends everything before it listens, gets to
// read the refusal instead of a reset.
func readLimited(w http.ResponseWriter, r *http.Request) (body []byte, tooLarge bool, err error) {
	if r.ContentLength > MaxBody && r.Header.Get("Expect") != "" {
		return nil, true, nil // the client listens first
	}
	controller := http.NewResponseController(w)
	stop := time.AfterFunc(bodyTimeout, func() { _ = controller.SetReadDeadline(time.Unix(1, 0)) })
	defer stop.Stop()
	body, err = io.ReadAll(io.LimitReader(r.Body, MaxBody+1))
	if tooLarge = len(body) > MaxBody; tooLarge {
		_, _ = io.CopyN(io.Discard, r.Body, maxPassedOver) // it is refused whatever comes
	}
	return body, tooLarge, err
}

func (x *exchange) readReference() {
	if x.request.Method == http.MethodGet {
		x.externalRef = x.r.URL.Query().Get("external_ref")
		x.request.Reference = x.externalRef
		return
	}
	if x.request.Complete {
		x.members, x.memberError = parseObject(x.body)
		x.externalRef = textOf(x.members, "external_ref")
	}
	x.request.Reference = x.externalRef
	if x.request.Reference == "" {
		x.request.Reference = x.request.IdempotencyKey
	}
}

// run handles the request under its fault and answers.
func (x *exchange) run() {
	said, err := x.handle()
	if err == nil && x.late() {
		if err = x.waitAfter(); err == nil {
			err = x.finish(said)
		}
	}
	switch {
	case errors.Is(err, errEnded):
		x.recordDrop()
		resetConnection(x.w)
	case err != nil:
		x.fail("handle the request", err)
	default:
		x.deliver(said)
	}
}

// errEnded says that a wait was over before its time: the sandbox ends, or the client is gone.
var errEnded = errors.New("sandbox: ended while waiting")

// handle does what the ledger does about the request, and gives what the client is to be told. Except where an answer
// comes late, the log has its outcome in the same commit as the effect.
func (x *exchange) handle() (answer, error) {
	said, replaced := x.replacement()
	if !x.fault.handles() {
		if err := x.waitBefore(); err != nil {
			return answer{}, err
		}
		if x.late() {
			return said, nil
		}
		return said, x.finish(said)
	}
	early, release := x.admit()
	defer release()
	if err := x.waitBefore(); err != nil {
		return answer{}, err
	}
	var effects []Effect
	err := x.sandbox.store.within(x.store, func(t transaction) (err error) {
		genuine := early
		if genuine.status == 0 {
			if genuine, effects, err = x.perform(t); err != nil {
				return err
			}
		}
		if !replaced {
			said = genuine
		}
		if x.late() {
			return nil
		}
		return x.finishIn(t, said)
	})
	if err != nil {
		return answer{}, err
	}
	release()
	if x.sandbox.options.Performed != nil {
		for _, effect := range effects {
			x.sandbox.options.Performed(effect)
		}
	}
	return said, nil
}

// admit refuses what needs no look at the ledger, or holds the idempotency key until release is called (again).
// An answer with status 0 is no refusal.
func (x *exchange) admit() (early answer, release func()) {
	nothing := func() {}
	request, options := &x.request, &x.sandbox.options
	if options.Token != "" && !sameToken(x.r.Header.Get("Authorization"), options.Token) {
		return unauthorized(), nothing
	}
	if !x.routed {
		return refusal(http.StatusNotFound, "not_found", "no such path"), nothing
	}
	allowed := "GET, POST"
	if x.id != "" {
		allowed = "GET"
	}
	if request.Method != http.MethodGet && (request.Method != http.MethodPost || x.id != "") {
		return refusal(http.StatusMethodNotAllowed, "method_not_allowed", "allowed: "+allowed).with("Allow", allowed), nothing
	}
	if request.Method == http.MethodGet {
		return answer{}, nothing
	}
	if x.keyProblem != "" {
		return refusal(http.StatusBadRequest, "invalid", x.keyProblem), nothing
	}
	if request.IdempotencyKey == "" {
		return answer{}, nothing
	}
	release, same := x.sandbox.keys.take(keyName{request.Account, request.IdempotencyKey}, x.parameters())
	switch {
	case release != nil:
		return answer{}, release
	case same:
		return refusal(http.StatusConflict, "in_progress", "the first request with this key is still being handled"), nothing
	}
	return keyReused(), nothing
}

func (x *exchange) parameters() string {
	return parameters(x.request.Method, x.collection.name, x.body)
}

func unauthorized() answer {
	return refusal(http.StatusUnauthorized, "unauthorized", "the bearer token is missing or wrong").with("WWW-Authenticate", "Bearer")
}

func keyReused() answer {
	return refusal(http.StatusUnprocessableEntity, "key_reused", "this key was used with other parameters")
}

// sameToken compares in constant time, whatever the lengths.
func sameToken(header, token string) bool {
	given, wanted := sha256.Sum256([]byte(header)), sha256.Sum256([]byte("Bearer "+token))
	return subtle.ConstantTimeCompare(given[:], wanted[:]) == 1
}
