package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/onefold-dev/onefold/sandbox"
)

// sandboxOrder is what sandbox was asked for.
type sandboxOrder struct {
	listen, data, logFormat string
	window, lag             time.Duration
}

func newSandbox(a *app) *cobra.Command {
	var o sandboxOrder
	c := &cobra.Command{
		Use: "sandbox", Short: "Serve the fake ERP and bank alone", Args: wants(),
		Long: "Serve the fake ERP and bank alone: real HTTP, a ledger and a request log of its own, and faults that can be\n" +
			"queued at POST /admin/faults. Its admin API has no authentication, so it listens on loopback alone. With\n" +
			"--output json the first line on standard output is {\"sandbox\": URL}.",
		RunE: func(c *cobra.Command, _ []string) error { return a.sandbox(c, &o) },
	}
	f := c.Flags()
	f.StringVar(&o.listen, "listen", defaultSandboxListen, "where it listens, `HOST:PORT`")
	f.StringVar(&o.data, "data", "", "`FILE` of its ledger, kept (default: one that is removed at the end)")
	o.window = sandbox.DefaultWindow
	addRanged(f, durationFlag{&o.window, leastTiming, mostAge}, "window", "how long an idempotency key is remembered")
	addRanged(f, durationFlag{&o.lag, 0, mostPatience}, "lag", "how long a new effect stays invisible to look-ups")
	f.StringVar(&o.logFormat, "log-format", "", "`FORM` of the log on standard error: text or json (default: text on a terminal)")
	return c
}

func (a *app) sandbox(c *cobra.Command, o *sandboxOrder) error {
	log, err := a.logger(o.logFormat)
	if err != nil {
		return err
	}
	s, err := sandbox.Open(c.Context(), sandbox.Options{Path: o.data, Now: a.Now, Window: o.window, LookupLag: o.lag, Logger: log})
	if err != nil {
		return sandboxFailure(err, o.data)
	}
	l, err := listen(c.Context(), o.listen, "--listen")
	if err != nil {
		return errors.Join(err, s.Close())
	}
	address := "http://" + l.Addr().String()
	if !isLoopback(l.Addr()) {
		return errors.Join(sandboxFailure(sandbox.ErrNotLoopback, o.listen), l.Close(), s.Close())
	}
	a.announce(map[string]string{"sandbox": address}, func(w io.Writer) {
		fmt.Fprintf(w, "the sandbox answers at %s; its ledger is at %s/admin/effects\n", address, address)
	})
	return errors.Join(s.Serve(c.Context(), l), s.Close())
}

// sandboxFailure says in words why the sandbox cannot work.
func sandboxFailure(err error, what string) error {
	switch {
	case errors.Is(err, sandbox.ErrInUse):
		return failed(codeFolderInUse, "end the other one, or give another file", "another sandbox uses %s", what)
	case errors.Is(err, sandbox.ErrForeignFile):
		return failed(codeFileUnusable, "give another file", "%s is no sandbox's file", what)
	case errors.Is(err, sandbox.ErrNotLoopback):
		return usage("for example: 127.0.0.1:0", "%s is not on loopback, and the sandbox's admin API is open to everybody who reaches it", what)
	}
	if errors.Is(err, context.Canceled) {
		return err
	}
	return failed(codeFileUnusable, fileHint, "the sandbox cannot work with %s: %s", cmp.Or(what, "a temporary file"), err)
}
