package sandbox_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/onefold-dev/onefold/sandbox"
)

// A lost answer, as a caller without onefold meets it: the bill is there, and the caller knows nothing.
func Example() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	noon := func() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }
	s, err := sandbox.Open(ctx, sandbox.Options{Now: noon})
	if err != nil {
		fmt.Println(err)
		return
	}
	l, err := s.Listen(ctx, "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, l) }()

	if _, err := s.AddFault(ctx, sandbox.Fault{Kind: sandbox.DropAfterEffect}); err != nil {
		fmt.Println(err)
		return
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Post("http://"+l.Addr().String()+"/bills", "application/json",
		strings.NewReader(`{"supplier": "S-1", "number": "2026-1", "total": "99.00", "external_ref": "r-1"}`))
	fmt.Println("answered:", err == nil)
	if err == nil {
		_ = response.Body.Close()
	}

	sum, err := s.Summary(ctx)
	fmt.Println("effects:", sum.Effects, err)
	stop()
	fmt.Println("ended:", <-served, s.Close())
	// Output:
	// answered: false
	// effects: 1 <nil>
	// ended: <nil> <nil>
}
