package measure

import (
	"encoding/hex"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Request is what every peer stores: about 200 bytes of JSON.
const Request = `{"supplier":"S-81","number":"INV-0042","total":"1250.00","memo":"a memo of a common length, so that the request has about two hundred bytes as the peers' requests have","trace_id":"0123456789abcdef"}`

// Result is what every no-op target answers.
const Result = `{"id":"BILL-1","total":"1250.00"}`

// Settings are the pragmas that every SQLite file is measured with, as a query of
// a data source name: those that onefold's own store sets and reads back.
const Settings = "?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)" +
	"&_pragma=wal_autocheckpoint(8192)&_pragma=cache_size(-32768)&_pragma=temp_store(MEMORY)&_txlock=immediate"

// Callers are the numbers of concurrent callers that every case is run with.
func Callers() []int { return []int{1, 8, 64, 256} }

// Key makes 32 characters of chance, as callers' keys are.
func Key() string {
	var b [16]byte
	for i := 0; i < len(b); i += 8 {
		for j, n := 0, rand.Uint64(); j < 8; j, n = j+1, n>>8 { //nolint:gosec // a key of a benchmark
			b[i+j] = byte(n)
		}
	}
	return hex.EncodeToString(b[:])
}

// Together runs b.N operations by n callers, each one after another, and reports
// the rate and how long one took: the median and the 99th percentile. The first
// error ends the benchmark.
func Together(b *testing.B, n int, op func() error) {
	b.Helper()
	b.ReportAllocs()
	var next atomic.Int64
	var first atomic.Pointer[error]
	took := make([][]time.Duration, n)
	b.ResetTimer()
	var group sync.WaitGroup
	for caller := range n {
		group.Go(func() {
			own := make([]time.Duration, 0, 2*b.N/n+1)
			for first.Load() == nil && next.Add(1) <= int64(b.N) {
				began := time.Now()
				if err := op(); err != nil {
					first.CompareAndSwap(nil, &err)
				}
				own = append(own, time.Since(began))
			}
			took[caller] = own
		})
	}
	group.Wait()
	b.StopTimer()
	if err := first.Load(); err != nil {
		b.Fatalf("an operation failed: %v", *err)
	}
	all := slices.Concat(took...)
	slices.Sort(all)
	at := func(share float64) float64 {
		return float64(all[min(len(all)-1, int(share*float64(len(all))))]) / float64(time.Millisecond)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "op/s")
	b.ReportMetric(at(0.50), "p50-ms")
	b.ReportMetric(at(0.99), "p99-ms")
}
