package main

import (
	"context"
	"embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/examples/internal/open"
	"github.com/onefold-dev/onefold/machine"
	"github.com/onefold-dev/onefold/runner"
)

//go:embed documents
var documents embed.FS

// grace is how long requests under way may take when the program ends.
const grace = 5 * time.Second

func main() {
	listen := flag.String("listen", "127.0.0.1:8070", "address to listen on")
	data := flag.String("data", "", "folder for the database; a temporary one if empty")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := open.InFolder(*data, func(folder string) error {
		l, err := net.Listen("tcp", *listen)
		if err != nil {
			return err
		}
		return run(ctx, os.Stdout, folder, l, &payroll{lose: 1})
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "nethttp:", err)
		os.Exit(1)
	}
}

// run serves until ctx ends: the service on the listener, and a runner beside it,
// which carries the operations out.
func run(ctx context.Context, out io.Writer, folder string, l net.Listener, p *payroll) (err error) {
	ledger, end, err := open.Ledger(ctx, filepath.Join(folder, "onefold.db"), "acme", []byte("a secret of this example"), documents)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()

	work, err := runner.New(ledger, nil, runner.Config{
		Worker: "nethttp", Boot: machine.Boot,
		Targets: map[string]onefold.Steps{"payroll": p.steps()},
	})
	if err != nil {
		return err
	}
	running, drain := context.WithCancel(context.WithoutCancel(ctx))
	defer drain()
	drained := make(chan error, 1)
	go func() { drained <- work.Run(running) }()

	s := &service{ledger: ledger}
	server := &http.Server{Handler: s.routes(), ReadHeaderTimeout: grace}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	fmt.Fprintln(out, "listening on", l.Addr())

	<-ctx.Done()
	ledger.Drain() // nothing new is admitted; known keys are still answered
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	err = server.Shutdown(ending)
	if e := <-served; !errors.Is(e, http.ErrServerClosed) {
		err = errors.Join(err, e)
	}
	drain() // calls in flight may finish, the rest is recorded as uncertain
	return errors.Join(err, <-drained)
}
