package onefold_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/onefold-dev/onefold"
)

// The registry is complete and in the order of precedence: whatever constant of
// type Code is declared has its page, at its place.
// Proves: M25
func TestEveryCodeHasItsProblemInOrderOfPrecedence(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "errors.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var declared []onefold.Code
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 || !strings.HasPrefix(spec.Names[0].Name, "Code") {
			return true
		}
		if lit, ok := spec.Values[0].(*ast.BasicLit); ok {
			code, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			declared = append(declared, onefold.Code(code))
		}
		return true
	})
	problems := onefold.Problems()
	if len(declared) < 50 || len(problems) != len(declared) {
		t.Fatalf("%d codes are declared, %d have a problem", len(declared), len(problems))
	}
	for i, p := range problems {
		if p.Code != declared[i] {
			t.Errorf("place %d: the problem is %s, the declared code %s", i, p.Code, declared[i])
		}
	}
}

// Proves: M25
func TestProblemsSayWhetherARetryIsSafe(t *testing.T) {
	t.Parallel()
	for _, p := range onefold.Problems() {
		if p.Title == "" || !strings.HasSuffix(p.Meaning, ".") || p.Advice == "" {
			t.Errorf("%s: its page says too little: %+v", p.Code, p)
		}
		if http.StatusText(p.Status) == "" || p.Status < 400 {
			t.Errorf("%s: status %d", p.Code, p.Status)
		}
		switch p.Retry {
		case onefold.RetrySame, onefold.RetryChanged, onefold.RetryNever:
		default:
			t.Errorf("%s: retry %q", p.Code, p.Retry)
		}
		// A damaged record answers every caller alike, however often it is asked for.
		if p.Status >= 500 && p.Retry != onefold.RetrySame && p.Code != onefold.CodeRecordUnreadable {
			t.Errorf("%s: a fault of ours, yet the same request may not be sent again", p.Code)
		}
	}
	if got := onefold.ProblemOf("no-such-code").Code; got != onefold.CodeInternal {
		t.Errorf("an unknown code answers as %s", got)
	}
}
