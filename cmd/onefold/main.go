package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/onefold-dev/onefold/cmd/onefold/internal/cli"
)

func main() {
	// The first signal ends the context, and with it whatever runs, in good order;
	// then the signals have their usual effect again, so that a second one ends
	// the process at once.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer context.AfterFunc(ctx, stop)()
	os.Exit(cli.Main(ctx, cli.FromOS(), os.Args[1:]))
}
