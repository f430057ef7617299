package sqlite

import (
	"bytes"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/onefold-dev/onefold"
)

type codedError int

func (e codedError) Error() string { return "coded" }
func (e codedError) Code() int     { return int(e) }

func TestFailuresAreToldApart(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want failureKind
		code onefold.Code
	}{
		{codedError(5), failureBusy, onefold.CodeStoreUnavailable},
		{codedError(5 | 1<<8), failureBusy, onefold.CodeStoreUnavailable},
		{codedError(6), failureBusy, onefold.CodeStoreUnavailable},
		{codedError(13), failureFull, onefold.CodeStoreUnavailable},
		{codedError(10 | 4<<8), failureDisk, onefold.CodeStoreUnavailable},
		{codedError(11), failureDisk, onefold.CodeStoreUnavailable},
		{codedError(14), failureDisk, onefold.CodeStoreUnavailable},
		{codedError(19 | 6<<8), failureConstraint, onefold.CodeInternal},
		{codedError(9), failureCanceled, onefold.CodeInternal},
		{codedError(1), failureOther, onefold.CodeInternal},
		{errors.New("sqlite3: database is locked"), failureBusy, onefold.CodeStoreUnavailable},
		{errors.New("database or disk is full"), failureFull, onefold.CodeStoreUnavailable},
		{errors.New("disk I/O error: fsync"), failureDisk, onefold.CodeStoreUnavailable},
		{errors.New("UNIQUE constraint failed: claim.digest"), failureConstraint, onefold.CodeInternal},
		{errors.New("no such table: x"), failureOther, onefold.CodeInternal},
		{context.DeadlineExceeded, failureCanceled, onefold.CodeInternal},
		{driver.ErrBadConn, failureDisk, onefold.CodeStoreUnavailable},
	} {
		wrapped := fmt.Errorf("on the way: %w", c.err)
		if got := classify(wrapped); got != c.want {
			t.Errorf("%v is of kind %d, want %d", c.err, got, c.want)
		}
		if got := onefold.CodeOf(storeError("test", wrapped)); got != c.code {
			t.Errorf("%v is told as %s, want %s", c.err, got, c.code)
		}
		if !errors.Is(storeError("test", wrapped), c.err) {
			t.Errorf("%v is lost on the way", c.err)
		}
	}
	refusal := &onefold.Error{Code: onefold.CodeStaleVersion}
	if got, same := storeError("test", refusal).(*onefold.Error); !same || got != refusal { //nolint:errorlint // unwrapped is the point
		t.Errorf("a refusal became %v", got)
	}
	if storeError("test", nil) != nil {
		t.Error("no error became one")
	}
}

func TestVersionsAreCompared(t *testing.T) {
	t.Parallel()
	for version, older := range map[string]bool{
		"3.51.2": true, "3.51.3": false, "3.51.10": false, "3.52.0": false, "4.0": false, "3.9.9": true, "3.51": true, "": true,
	} {
		if got := olderThan(version, minimumVersion); got != older {
			t.Errorf("%q is older than %s: %v", version, minimumVersion, got)
		}
	}
}

func TestTimesKeepTheirOrderBeyondTheirRange(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 0, 0, 0, 1, time.UTC)
	if !fromNano(nano(at)).Equal(at) {
		t.Error("a nanosecond is lost")
	}
	if nano(time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)) != math.MaxInt64 || nano(time.Time{}) != math.MinInt64 {
		t.Error("times beyond the range are not at its ends")
	}
}

// Proves: I2
func TestDigestsOfClaimsDoNotRunTogether(t *testing.T) {
	t.Parallel()
	seen := map[string]onefold.ClaimKey{}
	for _, k := range []onefold.ClaimKey{
		{Workspace: "a", Capability: "b", Key: "c"},
		{Workspace: "ab", Capability: "", Key: "c"},
		{Workspace: "", Capability: "ab", Key: "c"},
		{Workspace: "a", Capability: "bc", Key: ""},
		{Workspace: "a", Capability: "b", Key: "C"},
		{Workspace: "a\x00", Capability: "b", Key: "c"},
	} {
		digest := claimDigest(k)
		if other, twice := seen[string(digest)]; twice || len(digest) != 16 {
			t.Errorf("%v and %v have one digest", k, other)
		}
		seen[string(digest)] = k
	}
	if !bytes.Equal(claimDigest(onefold.ClaimKey{Key: "x"}), claimDigest(onefold.ClaimKey{Key: "x"})) {
		t.Error("one key has two digests")
	}
}

func TestCursorsComeBack(t *testing.T) {
	t.Parallel()
	for _, p := range []place{{0, 0}, {math.MaxInt64, 1}, {math.MinInt64, math.MaxInt64}} {
		if got, err := readCursor(p.cursor()); err != nil || got != p {
			t.Errorf("%v came back as %v, error %v", p, got, err)
		}
	}
}

func TestQueriesThatReferInACircleAreRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"-- name: a\n{b};\n-- name: b\n{a};\n", "-- name: a\n{none};\n", "-- name: a\n{b\n", "-- name: a\n1;\n-- name: a\n2;\n",
	} {
		q := queries{}
		err := q.read("test", text)
		for name := range q {
			if err == nil {
				err = q.fill(name, len(q))
			}
		}
		if err == nil {
			t.Errorf("accepted: %q", text)
		}
	}
}
