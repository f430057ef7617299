package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/cmd/onefold/internal/remote"
)

// remote is the API that the command line and the environment name.
func (a *app) remote() (*remote.Server, error) {
	base := cmp.Or(a.server, a.env(envServer), defaultServer)
	token := a.env(envToken)
	switch {
	case token == "":
		return nil, newFailure(ExitNotPermitted, onefold.CodeUnauthenticated,
			"make one: onefold token create --db … --workspace … --role …", "there is no token: set "+envToken)
	case strings.ContainsAny(token, " \t\r\n"):
		return nil, newFailure(ExitNotPermitted, onefold.CodeUnauthenticated, "it begins with ofk_ and has no spaces", envToken+" holds no token")
	}
	s, err := remote.New(base, token, "onefold-cli/"+thisVersion().Version)
	if err != nil {
		return nil, usage("for example: --server "+defaultServer, "%s", err)
	}
	return s, nil
}

// fromRemote shows an error of a call: the server's problem with all its
// members, or what kept the call from being answered. ok is false for any other
// error.
func fromRemote(err error) (f *failure, ok bool) {
	if p, is := errors.AsType[*remote.Problem](err); is {
		return &failure{exit: exitOfStatus(p.Status), problem: p.Members, cause: err}, true
	}
	if n, is := errors.AsType[*remote.NoAnswer](err); is {
		hint := "is the server running, and is this its address? (--server, " + envServer + ")"
		if n.Write {
			hint = "it is not known whether the call was carried out; a submission is safe to send again with the same key"
		}
		f := newFailure(ExitFailed, "no_answer", hint, n.Error())
		f.cause = err
		return f, true
	}
	if errors.Is(err, remote.ErrForeign) {
		return newFailure(ExitFailed, "no_answer", "is this the address of an onefold server? (--server, "+envServer+")", err.Error()), true
	}
	return nil, false
}

// exitOfStatus is how a problem of the server ends the process.
func exitOfStatus(status int) int {
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return ExitNotPermitted
	case status == http.StatusNotFound:
		return ExitNotFound
	case status >= 400 && status < 500:
		return ExitRefused
	default:
		return ExitFailed
	}
}

// page is a list's answer.
type page[T any] struct {
	Items      []T     `json:"items"`
	NextCursor *string `json:"next_cursor"`
}

// decode reads what the server wrote; a shape that is not understood is an
// error, not an empty answer.
func decode[T any](body []byte) (T, error) {
	var v T
	if err := json.Unmarshal(body, &v); err != nil {
		return v, failed("are the command line and the server of the same release?", "the server's answer is not understood: %s", err)
	}
	return v, nil
}

// show prints a reply: its JSON as it is, or what text makes of it.
func show[T any](a *app, rep remote.Reply, text func(w io.Writer, v T)) error {
	if a.json {
		_, err := fmt.Fprintf(a.Stdout, "%s\n", rep.Body)
		return err
	}
	v, err := decode[T](rep.Body)
	if err != nil {
		return err
	}
	text(a.Stdout, v)
	return nil
}
