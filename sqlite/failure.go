package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"

	"github.com/onefold-dev/onefold"
)

// failureKind is what a driver's error means for the store.
type failureKind int

const (
	failureOther      failureKind = iota // a fault of ours, or one that nobody foresaw
	failureBusy                          // another process writes
	failureFull                          // the disk, or the size that the file may have
	failureDisk                          // reading, writing, opening, syncing; a damaged file
	failureConstraint                    // the schema refused a row
	failureCanceled                      // interrupted by its context
	failureClosed                        // the store was closed
)

// SQLite's primary result codes, which every driver passes on.
const (
	codeBusy       = 5
	codeLocked     = 6
	codeNoMemory   = 7
	codeReadOnly   = 8
	codeInterrupt  = 9
	codeIOError    = 10
	codeCorrupt    = 11
	codeFull       = 13
	codeCantOpen   = 14
	codeProtocol   = 15
	codeConstraint = 19
	codeNotADB     = 26
)

// classify reads an error of any SQLite driver: by its result code, which
// modernc's and others' errors give, else by SQLite's own words.
func classify(err error) failureKind {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return failureCanceled
	}
	var coded interface{ Code() int }
	if errors.As(err, &coded) {
		switch coded.Code() & 0xff {
		case codeBusy, codeLocked, codeProtocol:
			return failureBusy
		case codeFull:
			return failureFull
		case codeIOError, codeCorrupt, codeCantOpen, codeNotADB, codeReadOnly, codeNoMemory:
			return failureDisk
		case codeConstraint:
			return failureConstraint
		case codeInterrupt:
			return failureCanceled
		}
		return failureOther
	}
	if errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) {
		return failureDisk
	}
	return classifyText(err.Error())
}

func classifyText(text string) failureKind {
	for _, known := range []struct {
		words string
		kind  failureKind
	}{
		{"database is locked", failureBusy},
		{"database table is locked", failureBusy},
		{"locking protocol", failureBusy},
		{"database or disk is full", failureFull},
		{"disk I/O error", failureDisk},
		{"unable to open database file", failureDisk},
		{"database disk image is malformed", failureDisk},
		{"file is not a database", failureDisk},
		{"attempt to write a readonly database", failureDisk},
		{"constraint failed", failureConstraint},
		{"interrupted", failureCanceled},
		{"sql: database is closed", failureClosed},
		{"sql: statement is closed", failureClosed},
	} {
		if strings.Contains(text, known.words) {
			return known.kind
		}
	}
	return failureOther
}

// storeError turns a driver's error into the store's answer. It says nothing
// about whether a commit happened: that is the writer's business.
func storeError(what string, err error) error {
	if err == nil {
		return nil
	}
	if _, ours := errors.AsType[*onefold.Error](err); ours || errors.Is(err, onefold.ErrCommitUnknown) {
		return err
	}
	switch classify(err) {
	case failureBusy:
		return unavailable("another process holds the database", "it is tried again; if it lasts, look for a process that keeps the file open", err)
	case failureFull:
		return unavailable("the disk is full", "make room where the database file lies", err)
	case failureDisk:
		return unavailable("the database file cannot be used", "look at the log and at the disk", err)
	case failureClosed:
		return unavailable("the store is closed", "", err)
	case failureOther, failureConstraint, failureCanceled:
	}
	return fmt.Errorf("sqlite: %s: %w", what, err)
}

func unavailable(message, hint string, cause error) error {
	return &onefold.Error{Code: onefold.CodeStoreUnavailable, Message: message, Hint: hint, Cause: cause}
}
