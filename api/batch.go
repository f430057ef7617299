package api

import (
	"errors"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/identity"
)

const (
	// batchWorkers is how many submissions of one batch are under way at once. The
	// store's writer puts what waits into one transaction, so that this many share
	// one sync; above it nothing is gained, and other callers would wait longer.
	batchWorkers = 256
	// maxShown bounds the values that the conflicts of one batch show, in bytes:
	// each could repeat a whole accepted request.
	maxShown = 4 << 20
)

// batchView is what became of a batch.
type batchView struct {
	Items []batchResult `json:"items"`
}

// batchResult is what became of one submission: what a call of its own would have
// answered, with what stands in the header there.
type batchResult struct {
	Status     int              `json:"status" doc:"The HTTP status that the submission would have had by itself."`
	Replayed   bool             `json:"replayed" doc:"The key was known with the same intent (Idempotent-Replayed)."`
	Location   *string          `json:"location" doc:"The address of an operation that was admitted now."`
	RetryAfter *int             `json:"retry_after" doc:"Seconds after which the same submission may be sent again."`
	Operation  perhapsOperation `json:"operation" doc:"null where the submission was refused; of others' operations id and state, to whoever may not read."`
	Problem    *problemView     `json:"problem" doc:"Why it was refused. Pointers begin at the submission, offsets at the body."`
}

// batch is a batch under way.
type batch struct {
	server  *Server
	call    *call
	entries []entry
	results []batchResult
	shown   atomic.Int64

	mu    sync.Mutex
	cause error // the first fault of ours
}

// entry is one submission of a batch as it was read, or why it could not be.
type entry struct {
	submission onefold.Submission
	requestAt  int // where its request begins in the body
	err        error
}

// submitBatch reads the submissions one after another and admits them side by
// side, those of one key in their order. Each is durable before its result says
// so; a caller that hangs up stops those that have not begun.
func (s *Server) submitBatch(c *call) (*reply, error) {
	b := &batch{server: s, call: c, entries: make([]entry, len(c.pieces)), results: make([]batchResult, len(c.pieces))}
	for i := range c.pieces {
		b.entries[i] = b.read(&c.pieces[i])
	}
	b.run(b.groups())
	c.items, c.cause = len(b.results), b.cause
	for i := range b.results {
		if b.results[i].Problem != nil {
			c.refused++
		}
	}
	return answerJSON(batchView{b.results}), nil
}

// groups are the places of the submissions, those with one key together and in
// their order; one that could not be read has none. The capability is no part of
// it: only equal keys meet, and few do.
func (b *batch) groups() [][]int {
	byKey := map[string]int{}
	var groups [][]int
	for i := range b.entries {
		key := b.entries[i].submission.Key
		if at, known := byKey[key]; known && key != "" {
			groups[at] = append(groups[at], i)
			continue
		}
		byKey[key] = len(groups)
		groups = append(groups, []int{i})
	}
	return groups
}

// run works all groups off.
func (b *batch) run(groups [][]int) {
	next := atomic.Int64{}
	var workers sync.WaitGroup
	for range min(batchWorkers, len(groups)) {
		workers.Go(func() {
			for at := next.Add(1) - 1; at < int64(len(groups)); at = next.Add(1) - 1 {
				for _, i := range groups[at] {
					b.results[i] = b.submit(&b.entries[i])
				}
			}
		})
	}
	workers.Wait()
}

// submit decides one submission. A panic in it is our fault, and its alone.
func (b *batch) submit(e *entry) (result batchResult) {
	defer func() {
		if caught := recover(); caught != nil {
			result = b.refused(panicked(caught))
		}
	}()
	if e.err != nil {
		return b.refused(e.err)
	}
	op, replayed, err := b.server.ledger.Submit(b.call.ctx, e.submission)
	if err != nil {
		return b.refused(moved(err, e.requestAt))
	}
	result = batchResult{Status: http.StatusCreated, Replayed: replayed, Operation: b.call.viewOf(&op)}
	if replayed {
		result.Status = http.StatusOK
	} else {
		result.Location = optional(location(&op))
	}
	return result
}

// read reads one submission as strictly as if it had come alone. What is kept of
// it is about as long as its text: the parsed form, many times longer, is gone
// before the next one is read.
func (b *batch) read(p *piece) (e entry) {
	defer func() {
		if caught := recover(); caught != nil {
			e = entry{err: panicked(caught)}
		}
	}()
	if limit := b.server.cfg.MaxRequest + envelopeRoom; len(p.raw) > limit {
		return entry{err: tooLarge("submission", limit)}
	}
	key, body, err := readItem(p.raw)
	if err != nil {
		return entry{err: moved(err, p.at)}
	}
	at, _ := body["request"].Span()
	return entry{submission: b.call.submission(key, body), requestAt: p.at + at}
}

// readItem decodes one submission in the order of I3a: its key, then the rest.
// Offsets count from its first byte.
func readItem(raw []byte) (key string, body values, err error) {
	item, err := parseBody(raw, "submission")
	if err != nil {
		return "", nil, err
	}
	if item.Kind() != identity.Object {
		return "", nil, invalidMember("", "a submission is an object, not "+article(item.Kind()))
	}
	member := keyMember()
	at := identity.JoinPointer("", member.name)
	given, there := item.Get(member.name)
	switch {
	case !there || given.Kind() == identity.Null:
		return "", nil, &onefold.Error{
			Code: onefold.CodeKeyRequired, Pointer: at, Message: "a submission needs a key",
			Hint: "choose one key for each intended effect and send it again with every repetition",
		}
	case given.Kind() != identity.String:
		return "", nil, invalidMember(at, member.name+" is a string, not "+article(given.Kind()))
	}
	key = given.Text()
	if err := identity.ValidateKey(key); err != nil {
		err = keyProblem(err)
		if e, ok := errors.AsType[*onefold.Error](err); ok {
			e.Pointer = at
		}
		return "", nil, err
	}
	body, err = decode(item, itemMembers(), "")
	return key, body, err
}

// refused is the result of a submission that was refused.
func (b *batch) refused(err error) batchResult {
	p, wait, cause := b.call.refusal(err, true)
	if cause != nil {
		b.mu.Lock()
		if b.cause == nil {
			b.cause = cause
		}
		b.mu.Unlock()
	}
	b.shorten(p)
	result := batchResult{Status: p.Status, Problem: p}
	if wait > 0 {
		result.RetryAfter = &wait
	}
	return result
}

// shorten leaves the values out of a conflict once the batch has shown enough.
func (b *batch) shorten(p *problemView) {
	var size int64
	for _, d := range p.Differences {
		size += int64(len(d.Accepted) + len(d.Submitted))
	}
	if size == 0 || b.shown.Add(size) <= maxShown {
		return
	}
	for i := range p.Differences {
		p.Differences[i].Accepted, p.Differences[i].Submitted = nil, nil
	}
	p.Hint = "the values are left out, because the answer would be too long; this submission alone shows them"
}
