package api

import (
	"context"
	"crypto/subtle"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/onefold-dev/onefold"
)

const (
	// touchEvery is how often a token's last use is written down (section 4).
	touchEvery = time.Minute
	// touchTimeout bounds that write: it is a convenience and holds nobody up.
	touchTimeout = time.Second
)

// principal is who makes the call. The zero principal may do nothing.
type principal struct {
	name        string
	workspace   string // "" for one of the deployment
	roles       []onefold.Role
	connections []string // of the role evidence
}

// has tells whether the principal has any of the roles.
func (p *principal) has(roles ...onefold.Role) bool {
	return slices.ContainsFunc(roles, func(r onefold.Role) bool { return slices.Contains(p.roles, r) })
}

func (p *principal) actor() onefold.Actor {
	return onefold.Actor{Kind: onefold.ActorPrincipal, Name: p.name}
}

// sees tells whether the principal may see an operation wholly (I5): whoever may
// read or operate, and its submitter.
func (p *principal) sees(op *onefold.Operation) bool {
	return p.has(onefold.RoleRead, onefold.RoleOperate) || p.submitted(op)
}

// submitted tells whether the operation is the principal's own submission.
func (p *principal) submitted(op *onefold.Operation) bool {
	return p.has(onefold.RoleSubmit) && op.SubmittedBy == p.name
}

// delivers tells whether the principal may deliver evidence for an operation.
func (p *principal) delivers(op *onefold.Operation) bool {
	return p.has(onefold.RoleOperate) || p.has(onefold.RoleEvidence) && slices.Contains(p.connections, op.Connection)
}

// permissionError is a not_permitted with the roles that would do.
type permissionError struct {
	roles   []onefold.Role
	message string
}

func (e *permissionError) Error() string { return e.message }

// authenticate finds out who calls. What is wrong with a token is told to nobody
// but its bearer.
func (s *Server) authenticate(c *call) error {
	refused := func(message string) error {
		return &onefold.Error{Code: onefold.CodeUnauthenticated, Message: message}
	}
	headers := c.r.Header.Values("Authorization")
	if len(headers) != 1 {
		return refused("one Authorization header with a bearer token is needed")
	}
	scheme, secret, _ := strings.Cut(headers[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return refused("the Authorization header carries no bearer token")
	}
	if !WellFormedToken(secret) {
		return refused("this is no token of onefold")
	}
	hash := HashToken(secret)
	token, found, err := s.ledger.Store().TokenByHash(c.ctx, hash)
	if err != nil {
		return unreachable(err)
	}
	if !found || subtle.ConstantTimeCompare([]byte(token.Hash), []byte(hash)) != 1 {
		return refused("the token does not exist")
	}
	now := s.cfg.Now()
	switch {
	case token.RevokedAt != nil:
		return refused("the token was revoked")
	case token.ExpiresAt != nil && !now.Before(*token.ExpiresAt):
		return refused("the token has expired")
	}
	c.who = principal{name: token.Name, workspace: token.Workspace, roles: token.Roles, connections: token.Connections}
	if c.who.name == "" {
		c.who.name = token.ID
	}
	s.touch(c, &token, now)
	return nil
}

// authorize asks whether any role of the principal allows the route.
func (c *call) authorize() error {
	if !c.who.has(c.route.roles...) {
		return &permissionError{roles: c.route.roles, message: "no role of this token allows this call"}
	}
	if c.who.workspace == "" && !c.route.deployment {
		return &permissionError{message: "this token belongs to the deployment, and the call to a workspace"}
	}
	return nil
}

// touches remembers when each token's use was last written, so that a busy token
// costs no writes. It holds at most as many entries as there are valid tokens.
type touches struct {
	mu   sync.Mutex
	last map[string]time.Time
}

// due tells whether a use at now has to be written, and remembers it.
func (t *touches) due(token *onefold.Token, now time.Time) bool {
	if token.LastUsedAt != nil && now.Sub(*token.LastUsedAt) < touchEvery {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if last, ok := t.last[token.ID]; ok && now.Sub(last) < touchEvery {
		return false
	}
	if t.last == nil {
		t.last = map[string]time.Time{}
	}
	t.last[token.ID] = now
	return true
}

func (s *Server) touch(c *call, token *onefold.Token, now time.Time) {
	if !s.touched.due(token, now) {
		return
	}
	ctx, cancel := context.WithTimeout(c.ctx, touchTimeout)
	defer cancel()
	if err := s.ledger.Store().TouchToken(ctx, token.ID, now); err != nil {
		s.cfg.Logger.LogAttrs(c.ctx, slog.LevelWarn, "the use of a token could not be written", slog.String("request_id", c.id), slog.Any("error", err))
	}
}
