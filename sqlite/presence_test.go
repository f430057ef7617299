package sqlite_test

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/sqlite"
	"github.com/onefold-dev/onefold/storetest"
)

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

// TestAFileThatIsNotAtItsPathIsNotUsed takes the file of an open store away, and
// puts a copy in its place: nothing is admitted, stepped or answered, and the store
// says that it cannot be used, until its own file is back.
//
// Proves: M4, M6, M29
func TestAFileThatIsNotAtItsPathIsNotUsed(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, harm := range map[string]struct {
		do, undo func(t *testing.T, path string)
	}{
		"moved": {
			func(t *testing.T, path string) { rename(t, path, path+".away") },
			func(t *testing.T, path string) { rename(t, path+".away", path) },
		},
		"replaced by a copy": {
			func(t *testing.T, path string) {
				copyFile(t, path, path+".copy")
				rename(t, path, path+".away")
				rename(t, path+".copy", path)
			},
			func(t *testing.T, path string) { rename(t, path+".away", path) },
		},
		"its log moved": {
			func(t *testing.T, path string) { rename(t, path+"-wal", path+"-wal.away") },
			func(t *testing.T, path string) { rename(t, path+"-wal.away", path+"-wal") },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var opts sqlite.Options
			s := subject(t, func(o *sqlite.Options) { opts = *o })
			op := s.Admit(t, "before")
			// The reader has seen it as well.
			if _, err := s.Store.Operation(ctx, storetest.Workspace, op.ID); err != nil {
				t.Fatal(err)
			}
			harm.do(t, opts.Path)
			refused := map[string]error{}
			_, _, refused["admit"] = s.Store.Admit(ctx, s.Admission("during"))
			_, refused["step"] = s.Store.Step(ctx, op.ID, s.Lease(), 0)
			_, refused["operation"] = s.Store.Operation(ctx, storetest.Workspace, op.ID)
			_, _, refused["claimed"] = s.Store.Claimed(ctx, onefold.ClaimKey{Workspace: storetest.Workspace, Capability: storetest.Capability, Key: "before"})
			_, _, refused["list"] = s.Store.List(ctx, onefold.Query{Workspace: storetest.Workspace, Limit: 10})
			_, refused["due"] = s.Store.Due(ctx, s.Clock.Now(), nil, 10)
			refused["ping"] = s.Store.Ping(ctx)
			for what, err := range refused {
				if !errors.Is(err, onefold.ErrStoreUnavailable) {
					t.Errorf("%s was answered with %v", what, err)
				}
			}
			harm.undo(t, opts.Path)
			if _, found, err := s.Store.Claimed(ctx, onefold.ClaimKey{Workspace: storetest.Workspace, Capability: storetest.Capability, Key: "during"}); err != nil || found {
				t.Errorf("what was refused is there: %v, error %v", found, err)
			}
			s.Admit(t, "after")
			if now, err := s.Store.Operation(ctx, storetest.Workspace, op.ID); err != nil || now.Version != op.Version {
				t.Errorf("afterwards it is %+v, error %v", now, err)
			}
		})
	}
}
