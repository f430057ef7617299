package contract

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/identity"
)

// readBounded reads a file, but never more of it than DecodeFile would take.
func readBounded(fsys fs.FS, name string) ([]byte, error) {
	file, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // nothing was written
	src, err := io.ReadAll(io.LimitReader(file, MaxFileBytes+1))
	if err != nil {
		return nil, err
	}
	if len(src) > MaxFileBytes {
		return nil, fmt.Errorf("the file has more than %d bytes", MaxFileBytes)
	}
	return src, nil
}

// readJSON parses a JSON file: one document, or an array of documents.
func readJSON(name string, src []byte) ([]raw, Faults) {
	text := string(src)
	// One level more than a document has, for the array around them.
	tree, err := identity.Parse(src, identity.Limits{MaxBytes: MaxFileBytes, MaxDepth: MaxDepth + 1})
	if err != nil {
		fault := Fault{Code: onefold.CodeDocumentInvalid, Place: Place{File: name}, Detail: err.Error()}
		if syntax, ok := errors.AsType[*identity.SyntaxError](err); ok {
			fault.Place, fault.Detail = placeAt(name, text, syntax.Offset), "not JSON: "+syntax.Detail
		}
		return nil, Faults{fault}
	}
	items := []*identity.Value{tree}
	if tree.Kind() == identity.Array {
		items = tree.Items()
	}
	if len(items) > maxDocuments {
		return nil, Faults{{
			Code: onefold.CodeDocumentInvalid, Place: Place{File: name, Line: 1, Column: 1},
			Detail: fmt.Sprintf("the file has more than %d documents", maxDocuments), Hint: "write several files",
		}}
	}
	lines := newLineIndex(name, text)
	raws := make([]raw, 0, len(items))
	for _, item := range items {
		r := raw{source: item.Raw(), tree: item, places: map[string]Place{}}
		start, _ := item.Span()
		lines.record(r.places, "", item, start)
		raws = append(raws, r)
	}
	return raws, nil
}

// lineIndex turns byte offsets of one text into places.
type lineIndex struct {
	name, text string
	starts     []int // byte offset of each line
}

func newLineIndex(name, text string) *lineIndex {
	l := &lineIndex{name: name, text: text, starts: []int{0}}
	for i := range len(text) {
		if text[i] == '\n' {
			l.starts = append(l.starts, i+1)
		}
	}
	return l
}

// at is the place of a byte offset.
func (l *lineIndex) at(offset int) Place {
	lo, hi := 0, len(l.starts)
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; l.starts[mid] <= offset {
			lo = mid
		} else {
			hi = mid
		}
	}
	p := placeAt(l.name, l.text[l.starts[lo]:], offset-l.starts[lo])
	p.Line = lo + 1
	return p
}

// record notes where a parsed value and everything in it stands.
func (l *lineIndex) record(places map[string]Place, pointer string, v *identity.Value, offset int) {
	places[pointer] = l.at(offset)
	for i, item := range v.Items() {
		start, _ := item.Span()
		l.record(places, fmt.Sprintf("%s/%d", pointer, i), item, start)
	}
	for _, member := range v.Members() {
		l.record(places, identity.JoinPointer(pointer, member.Name), member.Value, member.NameOffset)
	}
}
