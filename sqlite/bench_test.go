package sqlite_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/storetest"
)

// callers are the numbers of concurrent callers that are measured.
func callers() []int { return []int{1, 8, 64} }

// together runs n pieces of work on c goroutines.
func together(b *testing.B, c int, work func(i int) error) {
	b.Helper()
	var next atomic.Int64
	var group sync.WaitGroup
	b.ResetTimer()
	for range c {
		group.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= b.N {
					return
				}
				if err := work(i); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "op/s")
}

func BenchmarkAdmit(b *testing.B) {
	for _, c := range callers() {
		b.Run(fmt.Sprintf("callers=%d", c), func(b *testing.B) {
			s := subject(b)
			together(b, c, func(i int) error {
				_, _, err := s.Store.Admit(context.Background(), s.Admission("key-"+strconv.Itoa(i)))
				return err
			})
		})
	}
}

func BenchmarkRepeat(b *testing.B) {
	for _, c := range callers() {
		b.Run(fmt.Sprintf("callers=%d", c), func(b *testing.B) {
			s := subject(b)
			s.Admit(b, "k")
			together(b, c, func(int) error {
				_, _, err := s.Store.Claimed(context.Background(), onefold.ClaimKey{
					Workspace: storetest.Workspace, Capability: storetest.Capability, Key: "k",
				})
				return err
			})
		})
	}
}

// BenchmarkStep measures the whole path of an operation after its admission:
// lease, begin, answer.
func BenchmarkStep(b *testing.B) {
	for _, c := range callers() {
		b.Run(fmt.Sprintf("callers=%d", c), func(b *testing.B) {
			s := subject(b)
			ids := make([]string, b.N)
			for i := range ids {
				ids[i] = s.Admission("key-" + strconv.Itoa(i)).Operation.ID
			}
			var group sync.WaitGroup
			for w := range 64 {
				group.Go(func() {
					for i := w; i < b.N; i += 64 {
						op, _, err := s.Store.Admit(context.Background(), s.Admission("key-"+strconv.Itoa(i)))
						if err != nil {
							b.Error(err)
							return
						}
						ids[i] = op.ID
					}
				})
			}
			group.Wait()
			together(b, c, func(i int) error {
				s.Ended(b, ids[i], onefold.OutcomeConfirmed, "B-"+strconv.Itoa(i))
				return nil
			})
		})
	}
}
