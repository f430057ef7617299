package onefold_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/onefold-dev/onefold"
)

// Every code can be matched: errors.go declares a sentinel for each, under the
// same name.
func TestEveryCodeHasASentinel(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "errors.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	sentinels, codes := map[string]int{}, 0
	ast.Inspect(file, func(n ast.Node) bool {
		pair, ok := n.(*ast.KeyValueExpr)
		if !ok {
			return true
		}
		if key, ok := pair.Key.(*ast.Ident); !ok || key.Name != "Code" {
			return true
		}
		if value, ok := pair.Value.(*ast.Ident); ok {
			sentinels[value.Name]++
		}
		return true
	})
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, "Code") {
			return true
		}
		codes++
		if name := spec.Names[0].Name; sentinels[name] != 1 {
			t.Errorf("%s has %d sentinels", name, sentinels[name])
		}
		return true
	})
	if codes < 50 {
		t.Fatalf("only %d codes were found", codes)
	}
}

func TestErrorsAreMatchedByTheirCode(t *testing.T) {
	t.Parallel()
	for _, p := range onefold.Problems() {
		err := fmt.Errorf("submit: %w", &onefold.Error{Code: p.Code, Message: "m", Operation: "op_1"})
		if !errors.Is(err, &onefold.Error{Code: p.Code}) || errors.Is(err, &onefold.Error{Code: p.Code + "x"}) {
			t.Errorf("%s is not matched by its code alone", p.Code)
		}
		if onefold.CodeOf(err) != p.Code {
			t.Errorf("the code of %v is %s", err, onefold.CodeOf(err))
		}
	}
}
