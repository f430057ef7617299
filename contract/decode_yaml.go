package contract

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/identity"
)

// maxTokens is how many words and marks one YAML document may have. The parser
// takes time with the square of a mapping's length; at this bound that is a
// fraction of a second, and no document of ours comes near it.
const maxTokens = 40_000

// chunk is one document's part of a YAML file.
type chunk struct {
	text  string
	first int // line of the file on which it begins, from 1
}

// splitYAML parts a file at its `---` lines. The marks cannot stand at the
// beginning of a line in any other meaning, not even inside a block of text.
func splitYAML(text string) []chunk {
	var chunks []chunk
	start, first, line := 0, 1, 0
	for at := 0; at < len(text); {
		line++
		end := len(text)
		if i := strings.IndexByte(text[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		if content := strings.TrimRight(text[at:end], "\r\n"); at > start && isMark(content) {
			chunks = append(chunks, chunk{text[start:at], first})
			start, first = at, line
		}
		at = end
	}
	return append(chunks, chunk{text[start:], first})
}

func isMark(line string) bool {
	rest, found := strings.CutPrefix(line, "---")
	return found && (rest == "" || rest[0] == ' ' || rest[0] == '\t')
}

// readYAML parses a YAML file: any number of documents, empty ones passed over.
func readYAML(name string, src []byte) ([]raw, Faults) {
	var raws []raw
	var faults Faults
	for i, part := range splitYAML(string(src)) {
		if i >= maxDocuments {
			fault := Fault{
				Code: onefold.CodeDocumentInvalid, Place: Place{File: name, Line: part.first, Column: 1},
				Detail: fmt.Sprintf("the file has more than %d documents", maxDocuments), Hint: "write several files",
			}
			return raws, append(faults, fault)
		}
		r, fault := readChunk(name, part)
		switch {
		case fault != nil:
			faults = append(faults, *fault)
		case r != nil:
			raws = append(raws, *r)
		}
	}
	return raws, faults
}

// readChunk parses one YAML document; nil for an empty one. The parser is known
// to panic on odd input: that is a fault of the document, not of the program.
func readChunk(name string, part chunk) (r *raw, fault *Fault) {
	y := &yamlReader{name: name, part: part, places: map[string]Place{}}
	defer func() {
		if p := recover(); p != nil {
			r, fault = nil, y.at(nil, "this YAML cannot be read", "write it more plainly, or as JSON")
		}
	}()
	// The lexer counts a line end of two characters behind a comment twice.
	tokens := lexer.Tokenize(strings.ReplaceAll(part.text, "\r\n", "\n"))
	if fault := y.checkTokens(tokens); fault != nil {
		return nil, fault
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		if syntax, ok := errors.AsType[*yaml.SyntaxError](err); ok {
			return nil, y.at(syntax.Token, "not YAML: "+syntax.Message, "")
		}
		return nil, y.at(nil, "not YAML: it cannot be parsed", "")
	}
	var body ast.Node
	for _, doc := range file.Docs {
		if doc.Body == nil {
			continue
		}
		if body != nil {
			return nil, y.at(doc.Body.GetToken(), "a second document begins here", "put --- on a line of its own in front of it")
		}
		body = doc.Body
	}
	if body == nil {
		return nil, nil //nolint:nilnil // an empty document is neither a document nor a fault
	}
	tree, fault := y.value(body, "", 1)
	if fault != nil {
		return nil, fault
	}
	return &raw{source: []byte(part.text), tree: tree, places: y.places}, nil
}

// yamlReader turns one document's nodes into values.
type yamlReader struct {
	name   string
	part   chunk
	places map[string]Place
}

// place is where a token stands in the file.
func (y *yamlReader) place(t *token.Token) Place {
	if t == nil || t.Position == nil {
		return Place{File: y.name, Line: y.part.first, Column: 1}
	}
	return Place{File: y.name, Line: max(t.Position.Line, 1) + y.part.first - 1, Column: max(t.Position.Column, 1)}
}

func (y *yamlReader) at(t *token.Token, detail, hint string) *Fault {
	return &Fault{Code: onefold.CodeDocumentInvalid, Place: y.place(t), Detail: detail, Hint: hint}
}

// checkTokens refuses, before anything recurses, what a document does not need
// and what would cost more than its size: anchors, aliases, merge keys, tags,
// directives, explicit keys, and nesting.
func (y *yamlReader) checkTokens(tokens token.Tokens) *Fault {
	flow, dashes, line := 0, 0, 0
	for i, t := range tokens {
		if i >= maxTokens {
			return y.at(t, fmt.Sprintf("the document has more than %d words and marks", maxTokens), "")
		}
		if t.Position != nil && t.Position.Line != line {
			line, dashes = t.Position.Line, 0
		}
		switch t.Type {
		case token.AnchorType, token.AliasType:
			return y.at(t, "anchors and aliases are not read", "write the value where it is meant")
		case token.MergeKeyType:
			return y.at(t, "merge keys are not read", "write the members where they are meant")
		case token.TagType:
			return y.at(t, "tags are not read", "quote the value if it is text")
		case token.DirectiveType:
			return y.at(t, "directives are not read", "")
		case token.MappingKeyType:
			return y.at(t, "a name that is not a plain word is not read", "write name: value")
		case token.SequenceStartType, token.MappingStartType:
			flow++
		case token.SequenceEndType, token.MappingEndType:
			flow--
		case token.SequenceEntryType:
			dashes++
		default:
		}
		if flow > MaxDepth || dashes > MaxDepth {
			return y.at(t, fmt.Sprintf("nested deeper than %d levels", MaxDepth), "")
		}
	}
	return nil
}

// value turns a node into a value and notes where it stands.
func (y *yamlReader) value(n ast.Node, pointer string, depth int) (*identity.Value, *Fault) {
	if n == nil {
		return identity.NewNull(), nil
	}
	if _, known := y.places[pointer]; !known {
		y.places[pointer] = y.place(firstToken(n))
	}
	if depth > MaxDepth {
		return nil, y.at(n.GetToken(), fmt.Sprintf("nested deeper than %d levels", MaxDepth), "")
	}
	switch n := n.(type) {
	case *ast.MappingNode:
		return y.object(n.Values, pointer, depth)
	case *ast.MappingValueNode:
		return y.object([]*ast.MappingValueNode{n}, pointer, depth)
	case *ast.SequenceNode:
		items := make([]*identity.Value, len(n.Values))
		for i, item := range n.Values {
			v, fault := y.value(item, fmt.Sprintf("%s/%d", pointer, i), depth+1)
			if fault != nil {
				return nil, fault
			}
			items[i] = v
		}
		return identity.NewArray(items...), nil
	default:
		return y.scalar(n)
	}
}

// firstToken is where a node begins: a mapping's own token is its first colon.
func firstToken(n ast.Node) *token.Token {
	switch n := n.(type) {
	case *ast.MappingValueNode:
		return n.Key.GetToken()
	case *ast.MappingNode:
		if !n.IsFlowStyle && len(n.Values) > 0 {
			return n.Values[0].Key.GetToken()
		}
	}
	return n.GetToken()
}

func (y *yamlReader) object(values []*ast.MappingValueNode, pointer string, depth int) (*identity.Value, *Fault) {
	members := make([]identity.Member, 0, len(values))
	seen := make(map[string]Place, len(values))
	for _, value := range values {
		key := value.Key.GetToken()
		name, fault := y.memberName(value.Key)
		if fault != nil {
			return nil, fault
		}
		if first, taken := seen[name]; taken {
			return nil, y.at(key, fmt.Sprintf("%q is written twice, first in line %d", name, first.Line), "")
		}
		seen[name] = y.place(key)
		below := identity.JoinPointer(pointer, name)
		y.places[below] = seen[name]
		v, fault := y.value(value.Value, below, depth+1)
		if fault != nil {
			return nil, fault
		}
		members = append(members, identity.Member{Name: name, Value: v})
	}
	return identity.NewObject(members...), nil
}

// memberName is a member's name: text, or a plain word as it is written.
func (y *yamlReader) memberName(key ast.MapKeyNode) (string, *Fault) {
	t := key.GetToken()
	switch n := key.(type) {
	case *ast.StringNode:
		return y.text(n.Value, t)
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.NullNode, *ast.InfinityNode, *ast.NanNode:
		return t.Value, nil
	default:
		return "", y.at(t, "a name that is not a plain word is not read", "write name: value")
	}
}

// scalar reads a value that is neither object nor array. Plain words mean what
// they mean in JSON; what YAML alone would take for a number is refused, since
// the next reader may take it for text, or for another number.
func (y *yamlReader) scalar(n ast.Node) (*identity.Value, *Fault) {
	t := n.GetToken()
	switch n := n.(type) {
	case *ast.LiteralNode:
		return y.string(n.Value.Value, t)
	case *ast.StringNode:
		if t.Type == token.SingleQuoteType || t.Type == token.DoubleQuoteType {
			return y.string(n.Value, t)
		}
		return y.plain(n.Value, t)
	case *ast.NullNode:
		if t.Type == token.ImplicitNullType {
			return identity.NewNull(), nil
		}
		return y.plain(t.Value, t)
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return y.plain(t.Value, t)
	default:
		return nil, y.at(t, "this kind of YAML value is not read", "")
	}
}

// plain resolves a word without quotes.
func (y *yamlReader) plain(word string, t *token.Token) (*identity.Value, *Fault) {
	switch word {
	case "", "~", "null", "Null", "NULL":
		return identity.NewNull(), nil
	case "true", "True", "TRUE":
		return identity.NewBool(true), nil
	case "false", "False", "FALSE":
		return identity.NewBool(false), nil
	}
	if v, err := identity.NewNumber(word); err == nil {
		return v, nil
	} else if syntax, ok := errors.AsType[*identity.SyntaxError](err); ok && syntax.Reason == identity.ReasonNumberRange {
		return nil, y.at(t, "this number is beyond what is read: "+syntax.Detail, "quote it if it is text")
	}
	if yamlNumber.MatchString(word) {
		return nil, y.at(t, fmt.Sprintf("%s is a number in YAML alone, or no number at all", word), "write it as JSON would, or quote it if it is text")
	}
	return y.string(word, t)
}

// yamlNumber matches the spellings that some YAML reader takes for a number and
// JSON does not: 007, 0x1F, 0o17, 0b1, 1_000, +5, .5, 5., .inf, .nan.
var yamlNumber = regexp.MustCompile(`^[-+]?(?i:0x[0-9a-f_]+|0o[0-7_]+|0b[01_]+|(\.[0-9_]*[0-9]|[0-9][0-9_]*(\.[0-9_]*)?)(e[-+]?[0-9_]+)?|\.inf|\.nan)$`)

func (y *yamlReader) string(s string, t *token.Token) (*identity.Value, *Fault) {
	text, fault := y.text(s, t)
	if fault != nil {
		return nil, fault
	}
	return identity.NewString(text), nil
}

// text refuses what an escape left behind that is no Unicode text.
func (y *yamlReader) text(s string, t *token.Token) (string, *Fault) {
	if strings.ToValidUTF8(s, "") != s || strings.ContainsRune(s, '\uFFFD') && !strings.ContainsRune(y.part.text, '\uFFFD') {
		return "", y.at(t, "this text has an escape that names no character", "")
	}
	return s, nil
}
