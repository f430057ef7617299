package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: report FILE, which holds what go test -bench printed")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

func run(name string, out io.Writer) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	m, err := read(f)
	if err != nil {
		return err
	}
	return m.write(out)
}

// measurements are the values of each benchmark by unit; names are the
// benchmarks in the order in which they came.
type measurements struct {
	names  []string
	values map[string]map[string][]float64
}

var (
	// processors is what go test adds to a name.
	processors = regexp.MustCompile(`-\d+$`)
	// module is what packages of this module begin with.
	module = regexp.MustCompile(`^github\.com/onefold-dev/onefold/?`)
)

// The packages whose cases are compared by name with one another, so that their
// names stand alone; names of other packages begin with the package.
func compared(pkg string) bool { return pkg == "internal/bench" || pkg == "internal/bench/peers" }

// read takes the lines of results; all others are passed over.
func read(in io.Reader) (*measurements, error) {
	m := &measurements{values: map[string]map[string][]float64{}}
	pkg := ""
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) == 2 && fields[0] == "pkg:" {
			pkg = module.ReplaceAllString(fields[1], "")
		}
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		if _, err := strconv.Atoi(fields[1]); err != nil {
			continue
		}
		name := strings.TrimPrefix(processors.ReplaceAllString(fields[0], ""), "Benchmark")
		if !compared(pkg) {
			name = pkg + " " + name
		}
		m.add(name, fields[2:])
	}
	return m, lines.Err()
}

// add takes pairs of a value and its unit.
func (m *measurements) add(name string, pairs []string) {
	if m.values[name] == nil {
		m.names = append(m.names, name)
		m.values[name] = map[string][]float64{}
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		if v, err := strconv.ParseFloat(pairs[i], 64); err == nil {
			m.values[name][pairs[i+1]] = append(m.values[name][pairs[i+1]], v)
		}
	}
}

// median is the middle of what was measured; ok is false where nothing was.
func (m *measurements) median(name, unit string) (v float64, ok bool) {
	all := slices.Sorted(slices.Values(m.values[name][unit]))
	if len(all) == 0 {
		return 0, false
	}
	if len(all)%2 == 0 {
		return (all[len(all)/2-1] + all[len(all)/2]) / 2, true
	}
	return all[len(all)/2], true
}

// figure is a value with three digits that say something.
func figure(v float64, ok bool) string {
	switch {
	case !ok:
		return "–"
	case v >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	default:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
}

// peers are the columns, ours first.
func peers() []string { return []string{"onefold", "hand-written", "River"} }

func (m *measurements) write(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "medians\t\t")
	for _, who := range peers() {
		fmt.Fprintf(w, "%s\t\t", who)
	}
	fmt.Fprint(w, "onefold to\t\n\tcallers\t")
	for range peers() {
		fmt.Fprint(w, "op/s\tp50/p99 ms\t")
	}
	fmt.Fprintf(w, "%s\t%s\t\n", peers()[1], peers()[2])
	rest := m.comparisons(w)
	fmt.Fprintln(w)
	for _, name := range rest {
		fmt.Fprintf(w, "%s\t%s\n", name, m.figures(name))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return m.judge(out)
}

// parts takes a name of the form case/who/callers=n apart.
func parts(name string) (what, who, callers string, ok bool) {
	p := strings.Split(name, "/")
	if len(p) != 3 || !slices.Contains(peers(), p[1]) || !strings.HasPrefix(p[2], "callers=") {
		return "", "", "", false
	}
	return p[0], p[1], strings.TrimPrefix(p[2], "callers="), true
}

// comparisons writes a row for each case and number of callers, and returns the
// names that are none, among them what was counted and not timed.
func (m *measurements) comparisons(w io.Writer) (rest []string) {
	for _, name := range m.names {
		what, who, callers, ok := parts(name)
		if _, counted := m.median(name, "fsyncs/op"); !ok || counted {
			rest = append(rest, name)
			continue
		}
		if who != peers()[0] {
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t", what, callers)
		rate := func(who string) string { return what + "/" + who + "/callers=" + callers }
		for _, who := range peers() {
			p50, _ := m.median(rate(who), "p50-ms")
			p99, some := m.median(rate(who), "p99-ms")
			times := "–"
			if some {
				times = figure(p50, true) + " / " + figure(p99, true)
			}
			fmt.Fprintf(w, "%s\t%s\t", figure(m.median(rate(who), "op/s")), times)
		}
		for _, other := range peers()[1:] {
			ratio, ok := m.ratio(name, rate(other), "op/s")
			fmt.Fprintf(w, "%s\t", times(ratio, ok))
		}
		fmt.Fprintln(w)
	}
	return rest
}

func times(ratio float64, ok bool) string {
	if !ok {
		return "–"
	}
	return figure(ratio, true) + "×"
}

// ratio is the first's median by the second's.
func (m *measurements) ratio(name, by, unit string) (float64, bool) {
	a, okA := m.median(name, unit)
	b, okB := m.median(by, unit)
	if !okA || !okB || b == 0 {
		return 0, false
	}
	return a / b, true
}

// figures lists all that is known of a benchmark, its own units first.
func (m *measurements) figures(name string) string {
	units := make([]string, 0, len(m.values[name]))
	for unit := range m.values[name] {
		units = append(units, unit)
	}
	slices.Sort(units)
	var out []string
	for _, unit := range units {
		v, ok := m.median(name, unit)
		switch {
		case unit == "ns/op" && m.counts(name):
			continue
		case unit == "ns/op":
			out = append(out, figure(v/1000, ok)+" µs/op")
		default:
			out = append(out, figure(v, ok)+" "+unit)
		}
	}
	return strings.Join(out, ", ")
}

// counts tells whether a benchmark has better figures than its time.
func (m *measurements) counts(name string) bool {
	for _, unit := range []string{"op/s", "idle-MB"} {
		if _, ok := m.median(name, unit); ok {
			return true
		}
	}
	return false
}
