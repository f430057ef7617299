package contract

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/onefold-dev/onefold"
)

// placeOf finds a pointer's place, or that of its nearest ancestor.
func placeOf(places map[string]Place, pointer string) Place {
	for {
		if p, ok := places[pointer]; ok {
			return p
		}
		i := strings.LastIndexByte(pointer, '/')
		if i < 0 {
			return Place{}
		}
		pointer = pointer[:i]
	}
}

// String is file:line:column; a place that is not known is left out.
func (p Place) String() string {
	file := p.File
	if file == "" {
		file = "document"
	}
	if p.Line == 0 {
		return file
	}
	return fmt.Sprintf("%s:%d:%d", file, p.Line, p.Column)
}

// Fault is one reason why a document is refused. Its text is safe to show to
// whoever wrote the document; it never holds a secret.
type Fault struct {
	// Code is onefold.CodeDocumentInvalid, onefold.CodeNotSupportedYet or
	// onefold.CodeVersionImmutable.
	Code onefold.Code
	Place
	// Pointer is a JSON Pointer into the document; empty for the whole.
	Pointer string
	Detail  string
	Hint    string // what to do about it; may be empty
}

// String is "file:line:column: detail (hint)", with the code in front of the
// detail where it is not document_invalid.
func (f Fault) String() string {
	return line(f.Place, f.Code, f.Pointer, f.Detail, f.Hint)
}

// Warning is something that somebody should look at. It refuses nothing.
type Warning struct {
	Place
	Pointer string
	Detail  string
	Hint    string
}

// String is "file:line:column: warning: detail (hint)".
func (w Warning) String() string {
	return line(w.Place, "warning", w.Pointer, w.Detail, w.Hint)
}

func line(at Place, code onefold.Code, pointer, detail, hint string) string {
	var b strings.Builder
	b.WriteString(at.String())
	b.WriteString(": ")
	if code != onefold.CodeDocumentInvalid {
		b.WriteString(string(code))
		b.WriteString(": ")
	}
	if pointer != "" {
		b.WriteString(pointer)
		b.WriteString(": ")
	}
	b.WriteString(detail)
	if hint != "" {
		b.WriteString(" (")
		b.WriteString(hint)
		b.WriteString(")")
	}
	return b.String()
}

// Faults are all reasons why documents are refused, in the order of their
// places.
type Faults []Fault

// Error lists the faults, one a line.
func (f Faults) Error() string {
	lines := make([]string, len(f))
	for i, fault := range f {
		lines[i] = fault.String()
	}
	return strings.Join(lines, "\n")
}

// Err is nil without faults; otherwise an *onefold.Error of code
// document_invalid, or of the one other code that every fault has.
func (f Faults) Err() error {
	if len(f) == 0 {
		return nil
	}
	code := f[0].Code
	faults := make([]onefold.Fault, len(f))
	for i, fault := range f {
		if fault.Code != code {
			code = onefold.CodeDocumentInvalid
		}
		faults[i] = onefold.Fault{Pointer: fault.Pointer, Rule: string(fault.Code), Detail: fault.String()}
	}
	return &onefold.Error{Code: code, Message: f.Error(), Faults: faults}
}

// sorted orders faults by place, and keeps the order of those at one place.
func (f Faults) sorted() Faults {
	slices.SortStableFunc(f, func(a, b Fault) int { return comparePlaces(a.Place, b.Place) })
	return f
}

func comparePlaces(a, b Place) int {
	return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
}
