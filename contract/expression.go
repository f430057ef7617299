package contract

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"

	"github.com/onefold-dev/onefold/identity"
)

// Expressions in `when` are CEL. They see
//
//	response.status   int
//	response.headers  map of names in lower case to values; several lines of one
//	                  name are one value, joined by ", "
//	response.json     the body; null where it is empty
//	request           the approved request
//	clean             bool; false in look-ups
//
// and have, beside CEL's own functions, decimal(x): a number or a string that
// holds one, exactly, which compares with other decimals by value.
//
// A number of JSON is an int where it is whole and fits one, else a double where
// a double gives every digit back (up to fifteen), else a decimal. So no
// comparison is ever made with a value that was rounded on the way in. Adding and
// multiplying doubles rounds as it does everywhere, and so does a literal of more
// than fifteen digits: decimal("…") is for both.
//
// Whatever goes wrong in an expression, from a member that is absent to a cost
// that is too high, makes the answer uncertain: it neither matches nor lets a
// later rule speak.

// Bounds of an evaluation. An expression that reaches them is a mistake.
const (
	// maxCost is in CEL's own unit, about one for each step and tenth of a
	// character looked at: a walk over the largest answer fits, no more.
	maxCost = 1_000_000
	// maxCelTime is the belt to those braces, should a cost be estimated wrongly.
	maxCelTime = time.Second
	// checkEvery is after how many rounds of a loop the time is looked at. One
	// round may match a pattern against a whole answer, which takes long enough.
	checkEvery = 1
	// exactDigits is how many significant digits every double gives back.
	exactDigits = 15
	// maxExponent is up to where doubles have all their digits.
	maxExponent = 290
	// maxNesting bounds how deep the text of an expression nests.
	maxNesting = 50
)

// expression is a compiled one. It is safe for concurrent use.
type expression struct{ program cel.Program }

// celEnvironment is what expressions are checked against.
var celEnvironment = sync.OnceValues(newCelEnvironment)

func newCelEnvironment() (*cel.Env, error) {
	// CEL's own comparisons ask the left side, by its trait.
	compare := func(operator, id string) cel.EnvOption {
		return cel.Function(operator, cel.Overload(id, []*cel.Type{decimalType, decimalType}, cel.BoolType))
	}
	return cel.NewEnv(
		cel.Variable("response.status", cel.IntType),
		cel.Variable("response.headers", cel.MapType(cel.StringType, cel.StringType)),
		cel.Variable("response.json", cel.DynType),
		cel.Variable("request", cel.DynType),
		cel.Variable("clean", cel.BoolType),
		cel.ParserRecursionLimit(maxNesting),
		cel.ParserExpressionSizeLimit(4*maxExpression),
		cel.Function("decimal", cel.Overload("decimal_any", []*cel.Type{cel.DynType}, decimalType, cel.UnaryBinding(toDecimal))),
		compare(operators.Less, "less_decimal"),
		compare(operators.LessEquals, "less_equals_decimal"),
		compare(operators.Greater, "greater_decimal"),
		compare(operators.GreaterEquals, "greater_equals_decimal"),
	)
}

// compileExpression reads an expression; detail says what is wrong with it.
func compileExpression(text string) (e *expression, detail string) {
	env, err := celEnvironment()
	if err != nil {
		return nil, "expressions are not to be had: " + err.Error()
	}
	ast, issues := env.Compile(text)
	if issues.Err() != nil {
		for _, wrong := range issues.Errors() {
			return nil, fmt.Sprintf("the expression is wrong at its character %d: %s", wrong.Location.Column()+1, firstLine(wrong.Message))
		}
		return nil, "the expression is wrong"
	}
	if ast.OutputType() != cel.BoolType {
		return nil, "the expression is no condition: it gives " + ast.OutputType().String() + ", not a bool"
	}
	program, err := env.Program(ast, cel.CostLimit(maxCost), cel.InterruptCheckFrequency(checkEvery), cel.EvalOptions(cel.OptOptimize))
	if err != nil {
		return nil, "the expression cannot be used: " + firstLine(err.Error())
	}
	return &expression{program}, ""
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return cut(line, maxCode)
}

// holds evaluates the expression. Everything but true and false is unclear.
func (e *expression) holds(a *answer, m *materials, clean bool) truth {
	ctx, cancel := context.WithTimeout(context.Background(), maxCelTime)
	defer cancel()
	vars := map[string]any{"clean": clean}
	for name, value := range a.celVariables() {
		vars[name] = value
	}
	vars["request"] = func() any {
		if m == nil || m.request == nil {
			return types.NewErr("the request cannot be read")
		}
		return celValue(m.request)
	}
	result, _, err := e.program.ContextEval(ctx, vars)
	if err != nil || result == nil {
		return unclear
	}
	switch result.Value() {
	case true:
		return yes
	case false:
		return no
	}
	return unclear
}

// celVariables are an answer as expressions see it, made once.
func (a *answer) celVariables() map[string]any {
	if a.cel != nil {
		return a.cel
	}
	headers := map[string]string{}
	for i := range a.x.Headers {
		name := strings.ToLower(a.x.Headers[i].Name)
		if have, there := headers[name]; there {
			headers[name] = have + ", " + a.x.Headers[i].Value
		} else {
			headers[name] = a.x.Headers[i].Value
		}
	}
	a.cel = map[string]any{
		"response.status": int64(a.x.Status), "response.headers": headers,
		"response.json": sync.OnceValue(func() any {
			switch a.reading {
			case bodyJSON:
				return celValue(a.body)
			case bodyEmpty:
				return types.NullValue
			default:
				return types.NewErr("the body cannot be read")
			}
		}),
	}
	return a.cel
}

// celValue is a JSON value as CEL has it.
func celValue(v *identity.Value) ref.Val {
	switch v.Kind() {
	case identity.Bool:
		return types.Bool(v.Bool())
	case identity.String:
		return types.String(v.Text())
	case identity.Number:
		return celNumber(v.Number())
	case identity.Array:
		items := make([]ref.Val, 0, v.Len())
		for _, item := range v.Items() {
			items = append(items, celValue(item))
		}
		return types.NewRefValList(types.DefaultTypeAdapter, items)
	case identity.Object:
		members := make(map[ref.Val]ref.Val, v.Len())
		for _, m := range v.Members() {
			members[types.String(m.Name)] = celValue(m.Value)
		}
		return types.NewRefValMap(types.DefaultTypeAdapter, members)
	default:
		return types.NullValue
	}
}

// celNumber keeps a number's value, in the first type that can hold it whole.
func celNumber(raw string) ref.Val {
	exact, err := identity.ParseDecimal(raw)
	if err != nil {
		return types.NewErr("a number that cannot be read")
	}
	canonical := exact.String()
	if n, err := strconv.ParseInt(canonical, 10, 64); err == nil {
		return types.Int(n)
	}
	f, err := strconv.ParseFloat(canonical, 64)
	if err == nil && significant(canonical) <= exactDigits && (f == 0 || math.Abs(math.Log10(math.Abs(f))) < maxExponent) {
		return types.Double(f)
	}
	return celDecimal{exact}
}

// significant counts the digits of a canonical number that matter.
func significant(canonical string) int {
	mantissa, _, _ := strings.Cut(canonical, "e")
	digits := strings.TrimLeft(strings.NewReplacer("-", "", ".", "").Replace(mantissa), "0")
	return len(strings.TrimRight(digits, "0"))
}

// decimalType is the type of exact numbers in expressions.
var decimalType = types.NewObjectType("decimal", traits.ComparerType)

// celDecimal is an exact number in an expression.
type celDecimal struct{ value identity.Decimal }

var (
	_ ref.Val         = celDecimal{}
	_ traits.Comparer = celDecimal{}
)

// Compare orders decimals by value.
func (d celDecimal) Compare(other ref.Val) ref.Val {
	o, ok := other.(celDecimal)
	if !ok {
		return types.MaybeNoSuchOverloadErr(other)
	}
	return types.Int(d.value.Cmp(o.value))
}

// ConvertToNative is not offered: a decimal lives in expressions alone.
func (d celDecimal) ConvertToNative(reflect.Type) (any, error) {
	return nil, fmt.Errorf("a decimal stays in its expression")
}

// ConvertToType knows the type itself and the text of a decimal.
func (d celDecimal) ConvertToType(t ref.Type) ref.Val {
	switch t.TypeName() {
	case types.StringType.TypeName():
		return types.String(d.value.String())
	case decimalType.TypeName():
		return d
	case types.TypeType.TypeName():
		return decimalType
	}
	return types.NewErr("a decimal does not become %s", t.TypeName())
}

// Equal compares by value with other decimals; with anything else it is an
// error, so that a comparison is never false only because of its types.
func (d celDecimal) Equal(other ref.Val) ref.Val {
	o, ok := other.(celDecimal)
	if !ok {
		return types.MaybeNoSuchOverloadErr(other)
	}
	return types.Bool(d.value.Equal(o.value))
}

// Type is decimalType.
func (d celDecimal) Type() ref.Type { return decimalType }

// Value is the number itself.
func (d celDecimal) Value() any { return d.value }

// toDecimal makes a decimal of a number or of a string that holds one. A double
// has at most the digits that it gives back, so that its shortest text is it.
func toDecimal(v ref.Val) ref.Val {
	text := ""
	switch n := v.(type) {
	case celDecimal:
		return n
	case types.Int:
		text = strconv.FormatInt(int64(n), 10)
	case types.Uint:
		text = strconv.FormatUint(uint64(n), 10)
	case types.Double:
		text = strconv.FormatFloat(float64(n), 'g', -1, 64)
	case types.String:
		text = string(n)
	default:
		return types.MaybeNoSuchOverloadErr(v)
	}
	exact, err := identity.ParseDecimal(text)
	if err != nil {
		return types.NewErr("no decimal")
	}
	return celDecimal{exact}
}
