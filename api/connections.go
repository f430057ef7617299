package api

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/onefold-dev/onefold"
)

// connectionView is a connection as it is published, with its running state.
type connectionView struct {
	onefold.ConnectionInfo
	Limits limitsView         `json:"limits"`
	Paused *onefold.PauseInfo `json:"paused" doc:"null while it is not paused. A pause stops every begin; look-ups go on."`
}

type limitsView struct {
	InFlight   int     `json:"in_flight"`
	PerSecond  float64 `json:"per_second" doc:"0 is unlimited."`
	Unresolved int     `json:"unresolved"`
}

func (s *Server) listCapabilities(c *call) (*reply, error) {
	return catalogPage(c, s.cfg.Catalog.Capabilities(c.who.workspace), func(i *onefold.CapabilityInfo) string { return i.Name })
}

func (s *Server) listTargets(c *call) (*reply, error) {
	return catalogPage(c, s.cfg.Catalog.Targets(), func(i *onefold.TargetInfo) string { return i.Name })
}

// catalogPage cuts a page out of a list by name; its cursor is the last name, so
// that it is stable while documents are published.
func catalogPage[T any](c *call, all []T, name func(*T) string) (*reply, error) {
	start := 0
	if cursor, ok := c.query["cursor"]; ok {
		for start < len(all) && name(&all[start]) <= cursor {
			start++
		}
	}
	end := min(len(all), start+c.query.integer("limit", defaultPage))
	page := pageView[T]{Items: append([]T{}, all[start:end]...)}
	if end < len(all) {
		page.NextCursor = optional(name(&all[end-1]))
	}
	return answerJSON(page), nil
}

// connections lists the workspace's connections with what is paused.
func (s *Server) connections(c *call) ([]connectionView, error) {
	pauses, err := s.ledger.Store().Pauses(c.ctx, c.who.workspace)
	if err != nil {
		return nil, unreachable(err)
	}
	infos := s.cfg.Catalog.Connections(c.who.workspace)
	views := make([]connectionView, len(infos))
	for i := range infos {
		ref := onefold.ConnectionRef{Workspace: c.who.workspace, Connection: infos[i].Name}
		views[i] = connectionView{ConnectionInfo: infos[i], Limits: limitsView(infos[i].Limits), Paused: pauseAmong(pauses, ref)}
	}
	return views, nil
}

// pauseAmong finds a connection's pause, nil where it has none.
func pauseAmong(pauses []onefold.Pause, ref onefold.ConnectionRef) *onefold.PauseInfo {
	i := slices.IndexFunc(pauses, func(p onefold.Pause) bool { return p.Connection == ref })
	if i < 0 {
		return nil
	}
	return &onefold.PauseInfo{Since: pauses[i].Since.UTC(), By: pauses[i].By, Reason: pauses[i].Reason}
}

// pauseOf reads the pause of one of the workspace's connections.
func (s *Server) pauseOf(c *call, connection string) (*onefold.PauseInfo, error) {
	pauses, err := s.ledger.Store().Pauses(c.ctx, c.who.workspace)
	if err != nil {
		return nil, unreachable(err)
	}
	return pauseAmong(pauses, onefold.ConnectionRef{Workspace: c.who.workspace, Connection: connection}), nil
}

func (s *Server) listConnections(c *call) (*reply, error) {
	views, err := s.connections(c)
	if err != nil {
		return nil, err
	}
	return catalogPage(c, views, func(v *connectionView) string { return v.Name })
}

// connection finds the connection that the path names; one of another workspace
// is not there (I5).
func (s *Server) connection(c *call) (*connectionView, error) {
	views, err := s.connections(c)
	if err != nil {
		return nil, err
	}
	named := func(v connectionView) bool { return v.Name == c.path["name"] }
	i := slices.IndexFunc(views, named)
	if i < 0 {
		// Others may have published it a moment ago.
		if err := s.ledger.Renew(c.ctx); err != nil {
			return nil, err
		}
		if views, err = s.connections(c); err != nil {
			return nil, err
		}
		i = slices.IndexFunc(views, named)
	}
	if i < 0 {
		return nil, &onefold.Error{Code: onefold.CodeConnectionUnknown, Message: "the workspace has no connection of this name"}
	}
	return &views[i], nil
}

func (s *Server) getConnection(c *call) (*reply, error) {
	view, err := s.connection(c)
	if err != nil {
		return nil, err
	}
	return answerJSON(view), nil
}

// switchPause pauses or resumes one connection.
func (s *Server) switchPause(ctx context.Context, c *call, name string, pause bool) (changed bool, err error) {
	ref := onefold.ConnectionRef{Workspace: c.who.workspace, Connection: name}
	if pause {
		changed, err = s.ledger.Store().PauseConnection(ctx, ref, c.who.actor(), c.body.text("reason"))
	} else {
		changed, err = s.ledger.Store().ResumeConnection(ctx, ref, c.who.actor(), c.body.text("reason"))
	}
	if changed {
		s.ledger.Kick()
	}
	return changed, unreachable(err)
}

// setPause answers pause and resume of one connection; what was so already stays.
func setPause(pause bool) func(*Server, *call) (*reply, error) {
	return func(s *Server, c *call) (*reply, error) {
		view, err := s.connection(c)
		if err != nil {
			return nil, err
		}
		if _, err := s.switchPause(c.ctx, c, view.Name, pause); err != nil {
			return nil, err
		}
		return s.getConnection(c)
	}
}

// switchedView is the answer of pause and resume of a whole workspace.
type switchedView struct {
	Changed []string         `json:"changed" doc:"The connections that were not so already."`
	Items   []connectionView `json:"items" doc:"All connections of the workspace, as they are now."`
}

// setPauses switches every connection of the workspace. The caller hanging up
// does not stop it half-way; what failed can be asked again.
func setPauses(pause bool) func(*Server, *call) (*reply, error) {
	return func(s *Server, c *call) (*reply, error) {
		ctx := context.WithoutCancel(c.ctx)
		// All of them: also one that others have published a moment ago. Documents that
		// cannot be loaded here keep nobody from stopping what is.
		if err := s.ledger.Renew(ctx); err != nil && !errors.Is(err, onefold.ErrContractUnavailable) {
			return nil, err
		}
		out := switchedView{Changed: []string{}}
		for _, info := range s.cfg.Catalog.Connections(c.who.workspace) {
			changed, err := s.switchPause(ctx, c, info.Name, pause)
			if err != nil {
				return nil, err
			}
			if changed {
				out.Changed = append(out.Changed, info.Name)
			}
		}
		views, err := s.connections(c)
		if err != nil {
			return nil, err
		}
		out.Items = views
		return answerJSON(out), nil
	}
}

// getAgreement answers with the agreement, as Markdown to whoever asks for it.
func (s *Server) getAgreement(c *call) (*reply, error) {
	find := func() (onefold.Agreement, error) {
		return s.cfg.Catalog.Agreement(c.who.workspace, c.path["capability"], c.path["connection"])
	}
	agreement, err := find()
	if err != nil {
		if err := s.ledger.Renew(c.ctx); err != nil {
			return nil, err
		}
		agreement, err = find()
	}
	if err != nil {
		return nil, err
	}
	if strings.Contains(c.r.Header.Get("Accept"), "text/markdown") {
		rep := &reply{status: http.StatusOK, header: http.Header{}, raw: []byte(agreement.Markdown)}
		rep.header.Set("Content-Type", "text/markdown; charset=utf-8")
		return rep, nil
	}
	return answerJSON(agreement), nil
}

// statsView counts a workspace's work.
type statsView struct {
	ByState       map[onefold.State]int64 `json:"by_state" doc:"Every state, also those of which there is none."`
	Unresolved    map[string]int64        `json:"unresolved" doc:"By connection."`
	OpenReviews   int64                   `json:"open_reviews"`
	Contradicted  int64                   `json:"contradicted"`
	Oldest        *oldestView             `json:"oldest_uncertain" doc:"The operation that is uncertain and was admitted first (M16)."`
	OpenAttempts  int64                   `json:"open_attempts"`
	ExpiredLeases int64                   `json:"expired_leases"`
}

type oldestView struct {
	Operation string    `json:"operation"`
	CreatedAt time.Time `json:"created_at"`
}

func (s *Server) getStats(c *call) (*reply, error) {
	stats, err := s.ledger.Store().Stats(c.ctx, c.who.workspace)
	if err != nil {
		return nil, unreachable(err)
	}
	view := statsView{
		ByState: map[onefold.State]int64{}, Unresolved: stats.Unresolved, OpenReviews: stats.OpenReviews,
		Contradicted: stats.Contradicted, OpenAttempts: stats.OpenAttempts, ExpiredLeases: stats.ExpiredLeases,
	}
	for _, state := range onefold.States() {
		view.ByState[state] = stats.ByState[state]
	}
	if view.Unresolved == nil {
		view.Unresolved = map[string]int64{}
	}
	if stats.OldestOpen != nil {
		view.Oldest = &oldestView{stats.OldestOpenID, stats.OldestOpen.UTC()}
	}
	return answerJSON(view), nil
}

// tokenView is a token without its secret, which nobody has but its owner.
type tokenView struct {
	ID          string         `json:"id"`
	Workspace   string         `json:"workspace" doc:"Empty for a token of the deployment."`
	Name        string         `json:"name"`
	Roles       []onefold.Role `json:"roles"`
	Connections []string       `json:"connections" doc:"Those that the role evidence is limited to."`
	CreatedAt   time.Time      `json:"created_at"`
	ExpiresAt   *time.Time     `json:"expires_at"`
	RevokedAt   *time.Time     `json:"revoked_at"`
	LastUsedAt  *time.Time     `json:"last_used_at" doc:"To the minute."`
}

func (s *Server) listTokens(c *call) (*reply, error) {
	tokens, err := s.ledger.Store().Tokens(c.ctx, c.who.workspace)
	if err != nil {
		return nil, unreachable(err)
	}
	views := make([]tokenView, 0, len(tokens))
	for _, t := range tokens {
		if t.Workspace != c.who.workspace {
			continue
		}
		views = append(views, tokenView{
			ID: t.ID, Workspace: t.Workspace, Name: t.Name, Roles: list(t.Roles), Connections: list(t.Connections),
			CreatedAt: t.CreatedAt.UTC(), ExpiresAt: utc(t.ExpiresAt), RevokedAt: utc(t.RevokedAt), LastUsedAt: utc(t.LastUsedAt),
		})
	}
	slices.SortFunc(views, func(a, b tokenView) int { return strings.Compare(a.ID, b.ID) })
	return catalogPage(c, views, func(v *tokenView) string { return v.ID })
}

// publish reads, checks and stores documents, all or none.
func (s *Server) publish(c *call) (*reply, error) {
	if s.cfg.Publisher == nil {
		return nil, &onefold.Error{Code: onefold.CodeNotFound, Message: "this server takes no documents: publish them on its database"}
	}
	var files []SourceFile
	for _, item := range c.body["files"].Items() {
		name, _ := item.Get("name")
		text, _ := item.Get("text")
		files = append(files, SourceFile{Name: name.Text(), Text: []byte(text.Text())})
	}
	dry := c.query.boolean("dry_run")
	done, err := s.cfg.Publisher.Publish(c.ctx, c.who.workspace, c.who.name, files, dry != nil && *dry)
	if err != nil {
		return nil, err
	}
	done.Stored, done.Unchanged, done.Warnings = list(done.Stored), list(done.Unchanged), list(done.Warnings)
	return answerJSON(done), nil
}
