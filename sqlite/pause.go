package sqlite

import (
	"context"
	"errors"
	"time"

	"github.com/onefold-dev/onefold"
)

// standing is a connection's standing at a time; the zero standing for one that
// has no row yet.
func (c *connectionRow) standing(now time.Time) onefold.ConnectionStanding {
	if c == nil {
		return onefold.ConnectionStanding{}
	}
	paused := time.Duration(c.total)
	if c.since != 0 {
		paused += max(0, now.Sub(fromNano(c.since)))
	}
	return onefold.ConnectionStanding{Paused: c.since != 0, PausedFor: paused}
}

func (s *session) pause(ref onefold.ConnectionRef, by onefold.Actor, reason string, now time.Time) (changed bool, err error) {
	c, err := s.connection(ref, true)
	if err != nil || c.since != 0 {
		return false, err
	}
	since := nano(now)
	if err := s.must("connection.pause", c.num, since, string(by.Kind), by.Name, reason); err != nil {
		return false, err
	}
	c.since = since
	return true, nil
}

func (s *session) resume(ref onefold.ConnectionRef, by onefold.Actor, reason string, now time.Time) (changed bool, err error) {
	c, err := s.connection(ref, false)
	if err != nil || c == nil || c.since == 0 {
		return false, err
	}
	total := int64(c.standing(now).PausedFor)
	if err := s.must("connection.resume", c.num, string(by.Kind), by.Name, reason, total); err != nil {
		return false, err
	}
	c.since, c.total = 0, total
	return true, nil
}

// Connection returns a connection's standing now; the zero standing for one
// that was never used. Disabled is the document's business, not the store's.
func (s *Store) Connection(ctx context.Context, ref onefold.ConnectionRef) (onefold.ConnectionStanding, error) {
	c, err := s.readers.connection(ctx, ref)
	if err != nil {
		return onefold.ConnectionStanding{}, s.readers.failure("read a connection", err)
	}
	return c.standing(s.opts.now()), nil
}

// PauseConnection pauses a connection; changed is false if it was so already.
func (s *Store) PauseConnection(ctx context.Context, ref onefold.ConnectionRef, by onefold.Actor, reason string) (bool, error) {
	if ref.Workspace == "" || ref.Connection == "" {
		return false, errors.New("sqlite: a connection without a name cannot be paused")
	}
	changed := false
	err := s.writer.do(ctx, func(w *session) (err error) {
		changed, err = w.pause(ref, by, reason, s.opts.now())
		return err
	})
	if err != nil {
		return false, err
	}
	return changed, nil
}

// ResumeConnection ends a pause; changed is false if there was none.
func (s *Store) ResumeConnection(ctx context.Context, ref onefold.ConnectionRef, by onefold.Actor, reason string) (bool, error) {
	changed := false
	err := s.writer.do(ctx, func(w *session) (err error) {
		changed, err = w.resume(ref, by, reason, s.opts.now())
		return err
	})
	if err != nil {
		return false, err
	}
	return changed, nil
}

// Pauses lists the paused connections of a workspace, or of all ("").
func (s *Store) Pauses(ctx context.Context, workspace string) ([]onefold.Pause, error) {
	out, err := collect(ctx, s.readers, "connection.paused", func(row scanner) (onefold.Pause, error) {
		p, since := onefold.Pause{}, int64(0)
		err := row.Scan(&p.Connection.Workspace, &p.Connection.Connection, &since, &p.By.Kind, &p.By.Name, &p.Reason)
		p.Since = fromNano(since)
		return p, err
	}, workspace)
	return out, s.readers.failure("list the pauses", err)
}
