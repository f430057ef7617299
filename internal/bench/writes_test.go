package bench

import (
	"fmt"
	"testing"

	"github.com/onefold-dev/onefold/internal/bench/measure"
	"github.com/onefold-dev/onefold/internal/rig"
)

// BenchmarkWrites counts what an operation's whole path writes and syncs, up to a
// closed file, whose log has been copied back. Its rates are no comparison: the
// disk that counts belongs to another driver than the one that the binary ships.
func BenchmarkWrites(b *testing.B) {
	ours, theirs := measure.NewDisk("counted-onefold"), measure.NewDisk("counted-table")
	for _, n := range []int{1, 64} {
		b.Run(fmt.Sprintf("onefold/callers=%d", n), func(b *testing.B) {
			o := options(false)
			o.Driver, o.DSN = measure.Driver, func(path string) string { return ours.DSN(path, "") }
			r := rig.New(b, o)
			ours.Reset()
			measure.Together(b, n, func() error { return whole(b.Context(), r, measure.Key()) })
			r.Stop()
			if err := r.Store.Close(); err != nil {
				b.Fatal(err)
			}
			ours.Report(b)
		})
		b.Run(fmt.Sprintf("hand-written/callers=%d", n), func(b *testing.B) {
			t := openTable(b, theirs)
			theirs.Reset()
			measure.Together(b, n, func() error { return t.whole(b.Context(), measure.Key()) })
			t.close(b)
			theirs.Report(b)
		})
	}
}
