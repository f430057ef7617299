package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/onefold-dev/onefold"
)

// maxDocuments bounds one publication.
const maxDocuments = 1000

const kindConnection = "connection"

// Publish stores documents in one transaction and returns those that it
// stored, with their versions. A document that is there already with equal
// canonical content is left and not returned. A connection gets its next
// revision, whatever Version says. Errors: version_immutable (I12).
func (s *Store) Publish(ctx context.Context, docs []onefold.Document) ([]onefold.Document, error) {
	if len(docs) > maxDocuments {
		return nil, &onefold.Error{
			Code:    onefold.CodeTooLarge,
			Message: fmt.Sprintf("more than %d documents in one publication", maxDocuments),
		}
	}
	docs = slices.Clone(docs)
	var stored []onefold.Document
	err := s.writer.do(ctx, func(w *session) error {
		stored = nil
		for _, d := range docs {
			fresh, err := w.publish(&d, s.opts.now().UnixNano())
			if err != nil {
				return err
			}
			if fresh {
				stored = append(stored, d)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return stored, nil
}

func (s *session) publish(d *onefold.Document, now int64) (stored bool, err error) {
	var canonical []byte
	if d.Kind == kindConnection {
		version := 0
		err = s.row("document.newest", []any{d.Kind, d.Workspace, d.Name}, &version, &canonical)
		d.Version = version + 1
		if err == nil && bytes.Equal(canonical, d.Canonical) {
			return false, nil
		}
	} else {
		err = s.row("document.version", []any{d.Kind, d.Workspace, d.Name, d.Version}, &canonical)
		if err == nil && bytes.Equal(canonical, d.Canonical) {
			return false, nil
		}
		if err == nil {
			return false, &onefold.Error{
				Code:    onefold.CodeVersionImmutable,
				Message: fmt.Sprintf("%s %s version %d is published with other content", d.Kind, d.Name, d.Version),
				Hint:    "publish the change under the next version",
			}
		}
	}
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return false, err
	}
	if !d.PublishedAt.IsZero() {
		now = nano(d.PublishedAt)
	}
	d.PublishedAt = fromNano(now)
	return true, s.must("document.insert", d.Kind, d.Workspace, d.Name, d.Version, notNil(d.Source), notNil(d.Canonical),
		now, d.PublishedBy)
}

// notNil stores an empty text as such, not as absent.
func notNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// AllDocuments returns all documents in order of publication, connections in
// every revision.
func (s *Store) AllDocuments(ctx context.Context) ([]onefold.Document, error) {
	out, err := collect(ctx, s.readers, "document.all", func(row scanner) (d onefold.Document, err error) {
		at := int64(0)
		err = row.Scan(&d.Kind, &d.Workspace, &d.Name, &d.Version, &d.Source, &d.Canonical, &at, &d.PublishedBy)
		d.PublishedAt = fromNano(at)
		return d, err
	})
	return out, s.readers.failure("read the documents", err)
}

// DocumentsRevision rises with every publication that stored something.
func (s *Store) DocumentsRevision(ctx context.Context) (int64, error) {
	revision := int64(0)
	err := s.readers.row(ctx, "document.revision", nil, &revision)
	return revision, s.readers.failure("read the documents' revision", err)
}
