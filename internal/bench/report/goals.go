package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// goal is what a figure ought to be. by is what it is a ratio to, "" for none.
type goal struct {
	what     string
	name, by string
	unit     string
	least    float64
	most     float64 // 0: least counts
}

// grown is the name of the growth benchmarks in a full file, whatever its size.
const grown = "/finished=full"

// goals are those that were set before anything was measured.
func goals() []goal {
	const ours, table, river = "/onefold/callers=64", "/hand-written/callers=64", "/River/callers=64"
	return []goal{
		{what: "admissions at 64 callers, to the hand-written table", name: "Admission" + ours, by: "Admission" + table, unit: "op/s", least: 5},
		{what: "whole path at 64 callers, to the hand-written table", name: "WholePath" + ours, by: "WholePath" + table, unit: "op/s", least: 1},
		{what: "whole path at 64 callers, to River on SQLite", name: "WholePath" + ours, by: "WholePath" + river, unit: "op/s", least: 10},
		{what: "repeats at 64 callers, to the hand-written table", name: "Repeat" + ours, by: "Repeat" + table, unit: "op/s", least: 2},
		{what: "submission over HTTP at 64 callers, to the same in process", name: "HTTPAdmission" + ours, by: "Admission" + ours, unit: "op/s", least: 0.4},
		{what: "whole path in a full file, to an empty one", name: "Growth/WholePath" + grown, by: "Growth/WholePath/finished=0", unit: "op/s", least: 0.85},
		{what: "memory of serve, idle, MB", name: "Memory", unit: "idle-MB", most: 60},
		{what: "memory of serve, 10,000 in flight, MB", name: "Memory", unit: "10k-in-flight-MB", most: 400},
	}
}

// full finds the growth benchmark of the fullest file.
func (m *measurements) full(name string) string {
	prefix, isGrown := strings.CutSuffix(name, grown)
	if !isGrown {
		return name
	}
	for _, n := range m.names {
		if strings.HasPrefix(n, prefix+"/finished=") && n != prefix+"/finished=0" {
			return n
		}
	}
	return name
}

// judge writes what the goals say.
func (m *measurements) judge(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\ngoal\twanted\tmeasured\t")
	for _, g := range goals() {
		v, ok := m.median(m.full(g.name), g.unit)
		if g.by != "" {
			v, ok = m.ratio(m.full(g.name), g.by, g.unit)
		}
		wanted, met := fmt.Sprintf("≥ %g", g.least), v >= g.least
		if g.most > 0 {
			wanted, met = fmt.Sprintf("≤ %g", g.most), v <= g.most
		}
		verdict := "missed"
		switch {
		case !ok:
			verdict = "not measured"
		case met:
			verdict = "met"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", g.what, wanted, figure(v, ok), verdict)
	}
	return w.Flush()
}
