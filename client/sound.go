package client

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/onefold-dev/onefold"
)

// errForeign: what came is no answer of a onefold server, though its status was
// that of a success. A gateway, or another program at the address, did not do what
// was asked for.
var errForeign = errors.New("what came is no answer of a onefold server")

// foreign is what the call is answered with then: nobody knows what became of it.
func (a *answer) foreign(format string, args ...any) error {
	return &Unanswered{Server: a.server, Cause: fmt.Errorf("%w: "+format, append([]any{errForeign}, args...)...)}
}

// sounder is an answer that can tell whether it is one: JSON with none of the
// members that it always has is somebody else's.
type sounder interface{ sound() bool }

// sound: there is an operation, and it is in a state that there is. More is not
// shown to every token.
func (o *Operation) sound() bool {
	rest, is := strings.CutPrefix(o.ID, onefold.PrefixOperation+"_")
	return is && rest != "" && slices.Contains(onefold.States(), o.State)
}

// answers tells whether the operation is what a submission with the key is
// answered with. A token that may not see it is not shown the key.
func (o *Operation) answers(key string) bool { return o.sound() && (o.Key == "" || o.Key == key) }

// answers tells whether a result says what became of a submission with the key.
func (r *BatchResult) answers(key string) bool {
	switch {
	case r.Problem != nil:
		return r.Operation == nil && r.Problem.Code != ""
	case r.Operation == nil:
		return false
	}
	return r.Operation.answers(key)
}

func (c *Changes) sound() bool     { return c.Items != nil && c.NextCursor != "" }
func (r *Request) sound() bool     { return r.Operation != "" }
func (p *Preview) sound() bool     { return p.DryRun && (p.Outgoing != nil || p.Operation.sound()) }
func (e *Explanation) sound() bool { return e.Operation != "" && e.Text != "" }
func (c *Connection) sound() bool  { return c.Name != "" }
func (s *Switched) sound() bool    { return s.Changed != nil && s.Items != nil }
func (s *Stats) sound() bool       { return s.ByState != nil }
func (p *Publication) sound() bool { return p.Stored != nil && p.Unchanged != nil }
func (p *Page[T]) sound() bool     { return p.Items != nil }
func (a *Agreement) sound() bool   { return a.Markdown != "" }
