package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/identity"
)

const (
	// patience is how long a request waits for its payslip. The operation goes on
	// without it.
	patience = 2 * time.Second
	// maxBody is the longest request that is read.
	maxBody = 64 << 10
)

// service answers requests with the help of a ledger.
type service struct{ ledger *onefold.Ledger }

// answer is what callers of the service see of an operation.
type answer struct {
	ID         string        `json:"id"`
	State      onefold.State `json:"state"`
	Reference  string        `json:"reference,omitempty"`
	NewKeySafe bool          `json:"new_key_safe"`
}

func (s *service) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /payslips", s.issue)
	mux.HandleFunc("GET /payslips/{id}", s.show)
	return mux
}

// issue submits a payslip under the caller's key, and waits a moment for it. The
// submission is durable before the waiting starts: whoever hangs up and comes
// again with the same key gets the same payslip.
func (s *service) issue(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		http.Error(w, "the request is too large, or broke off", http.StatusBadRequest)
		return
	}
	key, err := identity.ParseKey(r.Header.Values("Idempotency-Key"))
	if err != nil {
		refuse(w, err)
		return
	}
	op, _, err := s.ledger.Submit(r.Context(), onefold.Submission{
		Workspace: "acme", Capability: "payslips.issue", Key: key, Request: body, SubmittedBy: "nethttp",
	})
	if err != nil {
		refuse(w, err)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	if op, err = s.ledger.Wait(ctx, "acme", op.ID, onefold.Rested); err != nil {
		refuse(w, err)
		return
	}
	show(w, op)
}

// show tells how an operation stands.
func (s *service) show(w http.ResponseWriter, r *http.Request) {
	op, err := s.ledger.Operation(r.Context(), "acme", r.PathValue("id"))
	if err != nil {
		refuse(w, err)
		return
	}
	show(w, op)
}

// show answers 200 for what is settled and 202 for what is not: in neither case is
// the caller told more than is known.
func show(w http.ResponseWriter, op onefold.Operation) {
	a := answer{ID: op.ID, State: op.State, NewKeySafe: op.NewKeySafe()}
	status := http.StatusAccepted
	if op.Settled() {
		status = http.StatusOK
	}
	if op.Result != nil {
		a.Reference = op.Result.Reference
	}
	write(w, status, a)
}

// problem is a refusal as callers see it; messages of onefold's errors are safe to
// show, their causes are not.
type problem struct {
	Code        onefold.Code `json:"code"`
	Detail      string       `json:"detail"`
	Differences []string     `json:"differences,omitempty"`
}

func refuse(w http.ResponseWriter, err error) {
	code := onefold.CodeOf(err)
	if key, ok := errors.AsType[*identity.KeyError](err); ok {
		code = onefold.Code(key.Code)
	}
	p := problem{Code: code, Detail: onefold.ProblemOf(code).Meaning}
	if e, ok := errors.AsType[*onefold.Error](err); ok {
		p.Detail = e.Message
		for _, d := range e.Differences {
			p.Differences = append(p.Differences, d.Pointer)
		}
	}
	write(w, onefold.ProblemOf(code).Status, p)
}

func write(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // whoever does not read it is gone
}
