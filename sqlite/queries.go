package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
)

//go:embed sql/*.sql
var queryFiles embed.FS

// query is one statement of the files in sql/: its text, and the indexes that
// its plan must use.
type queryText struct {
	text    string
	indexes []string
}

type queries map[string]queryText

// loadQueries reads all statements. A line "-- name: x" begins one, lines
// "-- index: y" name what its plan must use, and {z} stands for the text of
// another.
func loadQueries() (queries, error) {
	names, err := fs.Glob(queryFiles, "sql/*.sql")
	if err != nil {
		return nil, fmt.Errorf("sqlite: queries: %w", err)
	}
	q := queries{}
	for _, name := range names {
		text, err := queryFiles.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("sqlite: queries: %w", err)
		}
		if err := q.read(name, string(text)); err != nil {
			return nil, err
		}
	}
	for name := range q {
		if err := q.fill(name, len(q)); err != nil {
			return nil, err
		}
	}
	return q, nil
}

func (q queries) read(file, text string) error {
	name := ""
	for line := range strings.Lines(text) {
		if found, ok := strings.CutPrefix(line, "-- name: "); ok {
			name = strings.TrimSpace(found)
			if _, twice := q[name]; twice {
				return fmt.Errorf("sqlite: %s: the query %s is there twice", file, name)
			}
			q[name] = queryText{}
			continue
		}
		entry, begun := q[name], name != ""
		switch index, isIndex := strings.CutPrefix(line, "-- index: "); {
		case isIndex && begun:
			entry.indexes = append(entry.indexes, strings.TrimSpace(index))
		case strings.HasPrefix(line, "--"), !begun:
			continue
		default:
			entry.text += line
		}
		q[name] = entry
	}
	return nil
}

// fill replaces {other} by the other's text; depth bounds a circle.
func (q queries) fill(name string, depth int) error {
	entry := q[name]
	for {
		before, rest, found := strings.Cut(entry.text, "{")
		if !found {
			break
		}
		other, after, closed := strings.Cut(rest, "}")
		part, known := q[other]
		if !closed || !known || depth == 0 {
			return fmt.Errorf("sqlite: the query %s refers to %q", name, other)
		}
		if strings.Contains(part.text, "{") {
			if err := q.fill(other, depth-1); err != nil {
				return err
			}
			part = q[other]
		}
		entry.text = before + strings.TrimSuffix(strings.TrimSpace(part.text), ";") + after
	}
	entry.text = strings.TrimSuffix(strings.TrimSpace(entry.text), ";")
	q[name] = entry
	return nil
}

// statements keeps prepared statements by name. It is safe for concurrent use.
type statements struct {
	prepare func(ctx context.Context, text string) (*sql.Stmt, error)
	mu      sync.RWMutex
	byName  map[string]*sql.Stmt
}

func (s *statements) get(ctx context.Context, q queries, name string) (*sql.Stmt, error) {
	s.mu.RLock()
	stmt := s.byName[name]
	s.mu.RUnlock()
	if stmt != nil {
		return stmt, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if stmt := s.byName[name]; stmt != nil {
		return stmt, nil
	}
	entry, known := q[name]
	if !known {
		return nil, fmt.Errorf("sqlite: no query %q", name)
	}
	stmt, err := s.prepare(ctx, entry.text)
	if err != nil {
		return nil, fmt.Errorf("sqlite: prepare %s: %w", name, err)
	}
	if s.byName == nil {
		s.byName = map[string]*sql.Stmt{}
	}
	s.byName[name] = stmt
	return stmt, nil
}

func (s *statements) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var failed error
	for _, stmt := range s.byName {
		failed = errors.Join(failed, stmt.Close())
	}
	s.byName = nil
	return failed
}
