package storetest

import (
	"errors"
	"testing"

	"github.com/onefold-dev/onefold"
)

// Run tells every story to a store of its own, in parallel. open gives an empty
// store and sees to it that it is closed when its test ends.
func Run(t *testing.T, open func(t *testing.T) *Subject) {
	t.Helper()
	for _, chapter := range [][]story{
		claimStories(), startStories(), stepStories(), historyStories(), workStories(), runnerStories(), listStories(),
		publicationStories(), principalStories(),
	} {
		for _, s := range chapter {
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				s.tell(t, open(t))
			})
		}
	}
	t.Run("whatever happens, the store agrees with a model", func(t *testing.T) {
		t.Parallel()
		agreesWithModel(t, open)
	})
}

// story is one test of the suite.
type story struct {
	name string
	tell func(t *testing.T, s *Subject)
}

// wantError fails the test unless err is the wanted one.
func wantError(t testing.TB, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("got the error %v, want %v", err, want)
	}
}

func noError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func idsOf(ops []onefold.Operation) []string {
	out := make([]string, len(ops))
	for i := range ops {
		out[i] = ops[i].ID
	}
	return out
}
