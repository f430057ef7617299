package main

import (
	"strings"
	"testing"
)

const printed = `goos: linux
pkg: github.com/onefold-dev/onefold/internal/bench
BenchmarkAdmission/onefold/callers=64-2    100  10 ns/op  4000 op/s  1.5 p50-ms  9 p99-ms
BenchmarkAdmission/onefold/callers=64-2    100  10 ns/op  6000 op/s  2.5 p50-ms  9 p99-ms
BenchmarkAdmission/onefold/callers=64-2    100  10 ns/op  5000 op/s  3.5 p50-ms  9 p99-ms
BenchmarkAdmission/hand-written/callers=64-2  100  10 ns/op  500 op/s  2 p50-ms  4 p99-ms
BenchmarkGrowth/WholePath/finished=0-2     100  10 ns/op  1000 op/s
BenchmarkGrowth/WholePath/finished=2000-2  100  10 ns/op  700 op/s
BenchmarkWrites/onefold/callers=64-2       100  10 ns/op  0.2 fsyncs/op  5000 op/s
pkg: github.com/onefold-dev/onefold/identity
BenchmarkParse2KB-2                        100  12000 ns/op  64 B/op
BenchmarkNothing is no result
`

// TestTheTableIsOfMedians reads results of several runs and holds rows and goals.
func TestTheTableIsOfMedians(t *testing.T) {
	t.Parallel()
	m, err := read(strings.NewReader(printed))
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := m.write(&out); err != nil {
		t.Fatal(err)
	}
	got := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{
		"Admission 64 5000 2.50 / 9.00 500 2.00 / 4.00 – – 10.0× –",
		"identity Parse2KB 64.0 B/op, 12.0 µs/op",
		"Writes/onefold/callers=64 0.20 fsyncs/op, 5000 op/s",
		"admissions at 64 callers, to the hand-written table ≥ 5 10.0 met",
		"whole path in a full file, to an empty one ≥ 0.85 0.70 missed",
		"memory of serve, idle, MB ≤ 60 – not measured",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("want %q in\n%s", want, out.String())
		}
	}
	if strings.Contains(got, "Nothing") {
		t.Errorf("a line that is no result was taken for one:\n%s", out.String())
	}
}
