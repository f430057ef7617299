package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

var (
	errBusy    = errors.New("erp: busy, nothing was done")
	errLost    = errors.New("erp: connection reset by peer")
	errUnclear = errors.New("erp: status 500")
)

// erp is somebody else's client library. It recognises a repeat by its key, and
// answers it as it answered the first.
type erp struct {
	mu     sync.Mutex
	orders []string            // keys, in the order in which they were made
	answer map[string]string   // by key
	plans  map[string][]string // by order: what goes wrong, call by call
}

// Create makes an order, one for each key.
func (e *erp) Create(_ context.Context, key, order string) (number string, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	trouble := ""
	if plan := e.plans[order]; len(plan) > 0 {
		trouble, e.plans[order] = plan[0], plan[1:]
	}
	switch trouble {
	case "busy":
		return "", errBusy
	case "silent":
		return "", errUnclear
	}
	if e.answer[key] == "" {
		e.orders = append(e.orders, key)
		e.answer[key] = fmt.Sprintf("PO-%d", len(e.orders))
	}
	switch trouble {
	case "lose":
		return "", errLost
	case "panic":
		panic("erp client: index out of range")
	}
	return e.answer[key], nil
}

// Find looks an order up. Of some it cannot say anything.
func (e *erp) Find(_ context.Context, key, order string) (number string, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, broken := e.plans[order]; broken && e.answer[key] == "" {
		return "", errUnclear
	}
	return e.answer[key], nil
}
