package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/client"
)

// client is the API that the command line and the environment name.
func (a *app) client() (*client.Client, error) {
	token := a.env(envToken)
	switch {
	case token == "":
		return nil, newFailure(ExitNotPermitted, onefold.CodeUnauthenticated,
			"make one: onefold token create --db … --workspace … --role …", "there is no token: set "+envToken)
	case strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }):
		return nil, newFailure(ExitNotPermitted, onefold.CodeUnauthenticated, "it begins with ofk_ and has no spaces", envToken+" holds no token")
	}
	server := cmp.Or(a.server, a.env(envServer), defaultServer)
	c, err := client.New(client.Options{Server: server, Token: token, UserAgent: "onefold-cli/" + thisVersion().Version})
	if err != nil {
		return nil, usage("for example: --server "+defaultServer, "%q is no address of a server", server)
	}
	return c, nil
}

// fromClient shows an error of a call: the server's problem with all its
// members, or what kept the call from being answered. ok is false for any other
// error.
func fromClient(err error) (f *failure, ok bool) {
	if p, is := errors.AsType[*client.Problem](err); is {
		return fromProblem(p), true
	}
	if u, is := errors.AsType[*client.Unanswered](err); is {
		f := newFailure(ExitFailed, codeNoAnswer,
			"is the server running, and is this its address (--server, "+envServer+")? A submission is safe to send again with the same key", u.Error())
		f.cause = err
		return f, true
	}
	return nil, false
}

func fromProblem(p *client.Problem) *failure {
	if p.Code == "" { // something else answered, or something in between
		f := newFailure(client.ExitCode(p), codeNoAnswer, "is this the address of an onefold server? (--server, "+envServer+")", p.Detail)
		f.cause = p
		return f
	}
	members := map[string]any{}
	decoder := json.NewDecoder(bytes.NewReader(p.Raw))
	decoder.UseNumber() // values are shown with the digits that the server wrote
	if decoder.Decode(&members) == nil && members["code"] != nil {
		return &failure{exit: client.ExitCode(p), problem: members, cause: p}
	}
	return fromError(&onefold.Error{
		Code: p.Code, Message: p.Detail, Hint: p.Hint, Pointer: p.Pointer, Offset: p.Offset, Reason: p.Reason, Cause: p,
	})
}

// show prints what a call answered: the server's own JSON, or what text makes of
// it.
func (a *app) show(raw json.RawMessage, text func(w io.Writer)) error {
	if a.json {
		_, err := fmt.Fprintf(a.Stdout, "%s\n", bytes.TrimSpace(raw))
		return err
	}
	text(a.Stdout)
	return a.unwritten()
}

// instant is a flag's time; nil for none.
func instant(flag, text string) (*time.Time, error) {
	if text == "" {
		return nil, nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return nil, usage("for example: --"+flag+" 2026-11-29T08:00:00Z", "--%s: %q is no time (RFC 3339)", flag, text)
	}
	return &at, nil
}
