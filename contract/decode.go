package contract

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/identity"
)

// Bounds of what is read. They are far above any document that a person writes
// and keep what an accident costs small.
const (
	// MaxFileBytes is the longest file that is read at all.
	MaxFileBytes = 1 << 20
	// MaxFiles is how many files of a folder are read.
	MaxFiles = 2000
	// MaxDirBytes is how much of a folder is read in all: what stays in memory.
	MaxDirBytes = 64 << 20
	// MaxDepth is how many objects and arrays may lie inside one another: as deep
	// as a request may be (I10).
	MaxDepth = identity.DefaultMaxDepth
	// maxDocuments is how many documents of one file are read.
	maxDocuments = 2000
	// maxFaults is how many faults of one document are listed: enough to mend it
	// in one go, few enough to read.
	maxFaults = 50
)

// raw is one document as data, before anything is known about its meaning.
type raw struct {
	source []byte
	tree   *identity.Value
	places map[string]Place
}

// DecodeFile reads all documents of one file, YAML (several, parted by `---`)
// or JSON (an object, or an array of them), and decodes each strictly. A name
// that ends in .json is JSON, one in .yaml or .yml is YAML; any other is read
// as whichever it is. Documents without faults are returned beside the faults of
// the others.
func DecodeFile(name string, src []byte) ([]Document, Faults) {
	raws, faults := readFile(name, src)
	var docs []Document
	for _, r := range raws {
		doc, wrong := decodeDocument(name, r)
		if len(wrong) > 0 {
			faults = append(faults, wrong...)
			continue
		}
		docs = append(docs, doc)
	}
	return docs, faults.sorted()
}

// readFile parses a file into trees.
func readFile(name string, src []byte) ([]raw, Faults) {
	if len(src) > MaxFileBytes {
		return nil, Faults{{
			Code: onefold.CodeDocumentInvalid, Place: Place{File: name},
			Detail: fmt.Sprintf("the file has %d bytes; at most %d are read", len(src), MaxFileBytes),
		}}
	}
	if fault := checkText(name, src); fault != nil {
		return nil, Faults{*fault}
	}
	switch strings.ToLower(path.Ext(name)) {
	case ".json":
		return readJSON(name, src)
	case ".yaml", ".yml":
		return readYAML(name, src)
	}
	if first := strings.TrimLeft(string(src), " \t\r\n"); strings.HasPrefix(first, "{") || strings.HasPrefix(first, "[") {
		if raws, faults := readJSON(name, src); len(faults) == 0 {
			return raws, nil
		}
	}
	return readYAML(name, src)
}

// checkText finds bytes that no document may have: they would be read
// differently by different readers.
func checkText(name string, src []byte) *Fault {
	text := string(src)
	if strings.HasPrefix(text, "\uFEFF") {
		return &Fault{
			Code: onefold.CodeDocumentInvalid, Place: Place{File: name, Line: 1, Column: 1},
			Detail: "the file begins with a byte-order mark", Hint: "save it as UTF-8 without one",
		}
	}
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		detail := ""
		switch {
		case r == utf8.RuneError && size == 1:
			detail = "the text is not valid UTF-8"
		case r < 0x20 && r != '\t' && r != '\n' && r != '\r', r == 0x7F, r == '\u0085', r == '\u2028', r == '\u2029', r == '\uFEFF':
			detail = fmt.Sprintf("the control character U+%04X is not read", r)
		case r == '\r' && !strings.HasPrefix(text[i+1:], "\n"):
			detail = "a carriage return without a line feed is not read"
		}
		if detail != "" {
			return &Fault{Code: onefold.CodeDocumentInvalid, Place: placeAt(name, text, i), Detail: detail}
		}
		i += size
	}
	return nil
}

// placeAt is the place of a byte offset; columns count characters.
func placeAt(name, text string, offset int) Place {
	offset = min(max(offset, 0), len(text))
	before := text[:offset]
	start := strings.LastIndexByte(before, '\n') + 1
	return Place{File: name, Line: strings.Count(before, "\n") + 1, Column: utf8.RuneCountInString(before[start:]) + 1}
}

// DecodePublished decodes documents that were published, with the same words as
// before, of each connection the newest revision; faults mean that another release published them. Their places name
// kind, name and version instead of a file.
func DecodePublished(published []onefold.Document) ([]Document, Faults) {
	var docs []Document
	var faults Faults
	newest := map[onefold.ConnectionRef]int{}
	for i := range published {
		if p := &published[i]; p.Kind == string(KindConnection) {
			ref := onefold.ConnectionRef{Workspace: p.Workspace, Connection: p.Name}
			newest[ref] = max(newest[ref], p.Version)
		}
	}
	for i := range published {
		p := &published[i]
		if p.Kind == string(KindConnection) && p.Version < newest[onefold.ConnectionRef{Workspace: p.Workspace, Connection: p.Name}] {
			continue
		}
		decoded, wrong := DecodeFile(fmt.Sprintf("%s %s@%d", p.Kind, p.Name, p.Version), p.Source)
		docs, faults = append(docs, decoded...), append(faults, wrong...)
	}
	return docs, faults
}

// Publication is the document as a store keeps it. Of a connection the store
// counts the revision.
func (d *Document) Publication() onefold.Document {
	return onefold.Document{
		Kind: string(d.Kind), Workspace: d.Workspace, Name: d.Name, Version: d.Version, Source: d.Source, Canonical: d.Canonical,
	}
}

// DecodeDir reads every *.yaml, *.yml and *.json file of a folder, sub-folders
// included, in any order. Files and folders whose names begin with a dot are
// passed over.
func DecodeDir(fsys fs.FS) ([]Document, Faults) {
	var docs []Document
	var faults Faults
	unreadable := func(name string, err error) {
		faults = append(faults, Fault{Code: onefold.CodeDocumentInvalid, Place: Place{File: name}, Detail: reason(err)})
	}
	files, size := 0, 0
	err := fs.WalkDir(fsys, ".", func(name string, entry fs.DirEntry, err error) error {
		hidden := name != "." && strings.HasPrefix(path.Base(name), ".")
		switch {
		case err != nil:
			unreadable(name, err)
			return nil
		case entry.IsDir() && hidden:
			return fs.SkipDir
		case entry.IsDir() || hidden || !isDocumentName(name):
			return nil
		}
		if files++; files > MaxFiles {
			return fmt.Errorf("the folder has more than %d files of documents", MaxFiles)
		}
		src, err := readBounded(fsys, name)
		if err != nil {
			unreadable(name, err)
			return nil
		}
		if size += len(src); size > MaxDirBytes {
			return fmt.Errorf("the folder has more than %d bytes of documents", MaxDirBytes)
		}
		more, wrong := DecodeFile(name, src)
		docs, faults = append(docs, more...), append(faults, wrong...)
		return nil
	})
	if err != nil {
		unreadable(".", err)
	}
	return docs, faults.sorted()
}

func isDocumentName(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return false
}

// reason is an error's text without the path that the fault's place shows.
func reason(err error) string {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return "cannot be read: " + pathErr.Err.Error()
	}
	return err.Error()
}

// decodeDocument gives a tree its meaning.
func decodeDocument(name string, r raw) (Document, Faults) {
	c := &checker{file: name, places: r.places}
	kind, known := documentKind(c, r.tree)
	if !known {
		return Document{}, c.faults
	}
	shape := shapeOf(kind)
	if kind == KindTarget {
		shape = targetShapeFor(r.tree)
	}
	shape.check(c, "", r.tree)
	if len(c.faults) > 0 {
		return Document{}, c.faults.sorted()
	}
	doc := Document{
		Kind: kind, Source: r.source, Canonical: identity.Canonical(r.tree), Tree: r.tree, Places: r.places,
	}
	switch kind {
	case KindCapability:
		doc.Capability = fillCapability(r.tree)
		doc.Name, doc.Version = doc.Capability.Name, doc.Capability.Version
	case KindTarget:
		doc.Target = fillTarget(r.tree)
		doc.Name, doc.Version = doc.Target.Name, doc.Target.Version
		for i := range doc.Target.Operations {
			for _, f := range checkTemplates(&doc.Target.Operations[i]) {
				c.add(f)
			}
		}
	case KindConnection:
		doc.Connection = fillConnection(r.tree)
		doc.Workspace, doc.Name = doc.Connection.Workspace, doc.Connection.Name
	}
	if len(c.faults) > 0 {
		return Document{}, c.faults.sorted()
	}
	return doc, nil
}

// documentKind reads the member that decides how the rest is read.
func documentKind(c *checker, tree *identity.Value) (Kind, bool) {
	if tree.Kind() != identity.Object {
		c.fault("", "a document is an object, not "+article(tree.Kind()), "")
		return "", false
	}
	member, there := tree.Get("kind")
	if !there {
		c.fault("", "kind is missing", "write kind: capability, target or connection")
		return "", false
	}
	names := make([]string, 0, len(Kinds()))
	for _, kind := range Kinds() {
		if member.Text() == string(kind) {
			return kind, true
		}
		names = append(names, string(kind))
	}
	if member.Text() == "subscription" {
		c.later("/kind", "kind: subscription")
		return "", false
	}
	c.fault("/kind", "there is no such kind of document", "write capability, target or connection"+suggest(member.Text(), names))
	return "", false
}
