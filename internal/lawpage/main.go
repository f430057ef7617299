package main

import (
	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/internal/page"
)

func main() { states().Main() }

// states is the page of the law.
func states() page.Page {
	return page.Page{Command: "lawpage", Path: "docs/reference/states.md", Render: func(string) ([]byte, error) {
		return render(onefold.Transitions())
	}}
}
