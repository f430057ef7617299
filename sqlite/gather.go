package sqlite

import (
	"context"
	"runtime"
	"sync"
)

// maxAsked bounds the questions that one statement answers: above it nothing is
// saved any more, and the first of them would wait for the last.
const maxAsked = 256

// gather answers questions of one kind, many with one statement: while one runs,
// those who ask gather for the next, as steps do at the writer. Each answer is
// younger than its question. It is safe for concurrent use.
type gather[K, V any] struct {
	// look answers a batch of questions by setting their answers.
	look func(batch []*asked[K, V]) error

	mu      sync.Mutex
	waiting []*asked[K, V]
	reading bool
}

type asked[K, V any] struct {
	key    K
	answer V
	err    error
	done   chan struct{}
}

// ask asks one question.
func (g *gather[K, V]) ask(ctx context.Context, key K) (answer V, err error) {
	if err := ctx.Err(); err != nil {
		return answer, err
	}
	a := &asked[K, V]{key: key, done: make(chan struct{})}
	g.mu.Lock()
	g.waiting = append(g.waiting, a)
	idle := !g.reading
	g.reading = true
	g.mu.Unlock()
	if idle {
		go g.read()
	}
	select {
	case <-a.done:
		return a.answer, a.err
	case <-ctx.Done():
		return answer, ctx.Err()
	}
}

// read answers until nobody waits.
func (g *gather[K, V]) read() {
	for {
		// Whoever is about to ask asks first: a statement for two costs little more
		// than one for one.
		runtime.Gosched()
		g.mu.Lock()
		n := min(len(g.waiting), maxAsked)
		batch := g.waiting[:n:n]
		g.waiting = g.waiting[n:]
		g.reading = n > 0
		g.mu.Unlock()
		if n == 0 {
			return
		}
		err := g.look(batch)
		for _, a := range batch {
			a.err = err
			close(a.done)
		}
	}
}
