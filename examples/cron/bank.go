package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// The bank's answers.
var (
	errDown    = errors.New("bank: no connection") // nothing was sent
	errRefused = errors.New("bank: no such account")
)

// transfer is what the bank is told, and what its books hold.
type transfer struct {
	Reference string `json:"reference"`
	Employee  string `json:"employee"`
	Amount    string `json:"amount"`
}

// bank is somebody else's library: it pays, and does not recognise a repeat.
type bank struct {
	mu      sync.Mutex
	books   []transfer
	trouble map[string]error // by employee: what goes wrong, one time
}

var errLost = errors.New("bank: the connection broke")

// Pay pays, unless the bank is down or refuses. An error may come after the money
// went.
func (b *bank) Pay(ctx context.Context, t transfer) (number string, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return "", errDown
	}
	trouble := b.trouble[t.Employee]
	delete(b.trouble, t.Employee)
	if trouble != nil && !errors.Is(trouble, errLost) {
		return "", trouble
	}
	b.books = append(b.books, t)
	return fmt.Sprintf("PAY-%d", len(b.books)), trouble
}

// Find looks a transfer up by its reference.
func (b *bank) Find(_ context.Context, reference string) (number string, t transfer, found bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, t := range b.books {
		if t.Reference == reference {
			return fmt.Sprintf("PAY-%d", i+1), t, true
		}
	}
	return "", transfer{}, false
}
