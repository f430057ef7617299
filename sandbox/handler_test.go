package sandbox_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/onefold-dev/onefold/sandbox"
)

// The handler alone, in somebody else's server and with the runtime's own timers.
func TestHandlerInAnotherServer(t *testing.T) {
	t.Parallel()
	received := make(chan sandbox.Request, 4)
	s, err := sandbox.Open(context.Background(), sandbox.Options{
		Now:      newClock().Now,
		Received: func(r sandbox.Request) { received <- r },
	})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(s.Handler())
	defer server.Close()
	send := func() (int, error) {
		request, err := http.NewRequest("POST", server.URL+"/bills", strings.NewReader(bill("")))
		if err != nil {
			return 0, err
		}
		request.Close = true
		response, err := server.Client().Do(request)
		if err != nil {
			return 0, err
		}
		return response.StatusCode, response.Body.Close()
	}
	for _, f := range []sandbox.Fault{
		{Kind: sandbox.Delay, Before: time.Millisecond},
		{Kind: sandbox.DropAfterEffect},
		{Kind: sandbox.Hang, Effect: true},
	} {
		if _, err := s.AddFault(context.Background(), f); err != nil {
			t.Fatal(err)
		}
	}
	status, err := send()
	expect(t, "delayed", status, 201)
	expect(t, "without an error", err, nil)
	_, err = send()
	expect(t, "reset", isReset(err), true)
	effects, err := s.Effects(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	expect(t, "effects", len(effects), 2)

	hung := make(chan error)
	go func() {
		_, err := send()
		hung <- err
	}()
	for range 3 {
		<-received
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if <-hung == nil {
		t.Error("closing answered the hanging request")
	}
	status, err = send()
	expect(t, "closed", status, http.StatusServiceUnavailable)
	expect(t, "without an error", err, nil)
}

// Handlers without a connection to take over still end the request without an answer.
func TestDropWithoutAConnectionAborts(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.fault(sandbox.Fault{Kind: sandbox.DropAfterEffect})
	aborted := func() (is bool) {
		defer func() {
			err, isError := recover().(error)
			is = isError && errors.Is(err, http.ErrAbortHandler)
		}()
		w.Handler().ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("POST", "/bills", strings.NewReader(bill(""))))
		return false
	}
	expect(t, "aborted", aborted(), true)
	expect(t, "effects", len(w.effects()), 1)
}
