package main

import (
	"strings"
	"testing"

	"github.com/onefold-dev/onefold"
)

// TestThePageIsCurrent fails when a problem changed and the page did not.
func TestThePageIsCurrent(t *testing.T) {
	t.Parallel()
	if err := problems().Check(); err != nil {
		t.Error(err)
	}
}

// TestEveryCodeHasItsSection: each code stands in the table and has a section
// with its meaning and advice, and the page has one title.
func TestEveryCodeHasItsSection(t *testing.T) {
	t.Parallel()
	text, err := render(onefold.Problems())
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]string{}
	for _, part := range strings.Split(string(text), "\n## ")[1:] {
		name, rest, _ := strings.Cut(part, "\n")
		sections[name] = rest
	}
	if len(sections) != len(onefold.Problems()) {
		t.Errorf("%d sections for %d problems", len(sections), len(onefold.Problems()))
	}
	for _, p := range onefold.Problems() {
		s := sections[string(p.Code)]
		if !strings.Contains(s, sentence(p.Meaning)) || !strings.Contains(s, sentence(p.Advice)) {
			t.Errorf("the section of %s says something else: %q", p.Code, s)
		}
		if !strings.Contains(string(text), "| [`"+string(p.Code)+"`]") {
			t.Errorf("%s is not in the table", p.Code)
		}
	}
	if n := strings.Count("\n"+string(text), "\n# "); n != 1 {
		t.Errorf("the page has %d titles", n)
	}
}

// TestAProblemWithoutWordsIsRefused: a code that says too little gets no page.
func TestAProblemWithoutWordsIsRefused(t *testing.T) {
	t.Parallel()
	whole := onefold.Problems()[0]
	for name, change := range map[string]func(*onefold.Problem){
		"no title":   func(p *onefold.Problem) { p.Title = "" },
		"no advice":  func(p *onefold.Problem) { p.Advice = "" },
		"no meaning": func(p *onefold.Problem) { p.Meaning = "" },
		"no status":  func(p *onefold.Problem) { p.Status = 0 },
		"no words":   func(p *onefold.Problem) { p.Retry = "perhaps" },
	} {
		p := whole
		change(&p)
		if _, err := render([]onefold.Problem{p}); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}
