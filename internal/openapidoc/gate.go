package main

import (
	"fmt"
	"slices"
	"strings"
)

// Where the changelog tells what breaks.
const (
	unreleased = "## [Unreleased]"
	breaking   = "### Breaking"
)

// gate holds the differences of a document against the changelog: each that breaks
// something has a line under "### Breaking" of what is not released yet, with its
// place in backquotes. It returns those that have none.
func gate(found []difference, changelog string) (untold []difference) {
	told := breakingLines(changelog)
	for _, d := range found {
		if d.Breaking && !slices.ContainsFunc(told, func(line string) bool { return strings.Contains(line, "`"+d.Place+"`") }) {
			untold = append(untold, d)
		}
	}
	return untold
}

// breakingLines are the items of the list under the heading, each in one line.
func breakingLines(changelog string) []string {
	var items []string
	inside, under := false, false
	for line := range strings.Lines(changelog) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case strings.HasPrefix(line, "## "):
			inside, under = line == unreleased, false
		case strings.HasPrefix(line, "### "):
			under = inside && line == breaking
		case under && strings.HasPrefix(line, "- "):
			items = append(items, line)
		case under && len(items) > 0 && strings.HasPrefix(line, "  "):
			items[len(items)-1] += " " + strings.TrimSpace(line)
		}
	}
	return items
}

// refusal says what is missing in the changelog.
func refusal(untold []difference) error {
	var out strings.Builder
	fmt.Fprintf(&out, "the interface breaks what programs may rely on, and CHANGELOG.md does not say so. Under %q of %q,\n", breaking, unreleased)
	out.WriteString("tell who will notice and what they do, in lines that hold these places in backquotes:")
	for _, d := range untold {
		out.WriteString("\n  " + d.String())
	}
	return fmt.Errorf("%s", out.String())
}
