package contract

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/onefold-dev/onefold"
)

// Sentences of an agreement are written once and shown twice: as plain lines
// and as Markdown. What comes from documents is put between marks, so that the
// plain form shows it bare and the Markdown form as code or escaped: no name,
// reason or path of a document can make a heading, a table cell or a tag. The
// marks are private-use characters; visible takes them out of what is marked.
const (
	markCode  = '\ue000' // begins code
	markProse = '\ue001' // begins words of a document
	markEnd   = '\ue002'
)

// code marks a name, path or value that is read letter by letter.
func code(s string) string {
	if s == "" {
		return "nothing"
	}
	return string(markCode) + visible(s) + string(markEnd)
}

// prose marks words that somebody wrote for people.
func prose(s string) string { return string(markProse) + visible(s) + string(markEnd) }

// visible shows control characters, line breaks and whatever else cannot be
// seen or turns the direction of reading as an escape.
func visible(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0 {
		return s
	}
	quoted := strconv.Quote(s)
	return quoted[1 : len(quoted)-1]
}

// plain is a sentence without marks.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if r == markCode || r == markProse || r == markEnd {
			return -1
		}
		return r
	}, s)
}

// markdown is a sentence with its marks turned into Markdown; in a table's cell
// no bar may stand.
func markdown(s string, cell bool) string {
	var b strings.Builder
	for s != "" {
		at := strings.IndexAny(s, string(markCode)+string(markProse))
		if at < 0 {
			b.WriteString(s)
			break
		}
		b.WriteString(s[:at])
		inner, rest, _ := strings.Cut(s[at:], string(markEnd))
		asCode := strings.HasPrefix(inner, string(markCode))
		inner = strings.TrimLeft(inner, string(markCode)+string(markProse))
		if asCode && !(cell && strings.Contains(inner, "|")) {
			b.WriteString(codeSpan(inner))
		} else {
			b.WriteString(escape(inner))
		}
		s = rest
	}
	return b.String()
}

// codeSpan fences with more backticks than there are in a row inside.
func codeSpan(s string) string {
	longest, run := 0, 0
	for _, r := range s {
		if run++; r != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	fence := strings.Repeat("`", longest+1)
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") || strings.HasPrefix(s, " ") && strings.HasSuffix(s, " ") {
		s = " " + s + " "
	}
	return fence + s + fence
}

// escape takes their meaning from the characters that have one inside a line,
// bars of tables included.
func escape(s string) string {
	var b strings.Builder
	runes := []rune(s)
	letter := func(i int) bool {
		return i >= 0 && i < len(runes) && (unicode.IsLetter(runes[i]) || unicode.IsDigit(runes[i]))
	}
	for i, r := range runes {
		if strings.ContainsRune("\\`*[]<>~&$|", r) || r == '_' && !(letter(i-1) && letter(i+1)) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// page is an agreement while it is written.
type page struct {
	title    string
	sections []section
}

// section is one part of a page.
type section struct {
	id, title string
	blocks    []block
}

// block is a paragraph, a list, a numbered list or a table: a table has a head.
type block struct {
	numbered, listed bool
	head             []string
	rows             [][]string // of a table
	lines            []string   // of anything else
}

// begin starts a section. Its id never changes once it was published.
func (p *page) begin(id, title string) {
	p.sections = append(p.sections, section{id: id, title: title})
}

func (p *page) add(b block) {
	last := &p.sections[len(p.sections)-1]
	last.blocks = append(last.blocks, b)
}

// say adds a paragraph of sentences.
func (p *page) say(sentences ...string) { p.add(block{lines: sentences}) }

// list adds a list; nothing where there is nothing to list.
func (p *page) list(items ...string) {
	if len(items) > 0 {
		p.add(block{lines: items, listed: true})
	}
}

// steps adds a numbered list.
func (p *page) steps(items ...string) { p.add(block{lines: items, listed: true, numbered: true}) }

// table adds a table of at least two columns.
func (p *page) table(head []string, rows ...[]string) { p.add(block{head: head, rows: rows}) }

// published is the page's sections as plain lines. A row of a table is one
// line: the first cell, a colon, and the others.
func (p *page) published() []onefold.AgreementSection {
	out := make([]onefold.AgreementSection, 0, len(p.sections))
	for _, s := range p.sections {
		lines := []string{}
		for _, b := range s.blocks {
			for _, row := range b.rows {
				lines = append(lines, plain(row[0]+": "+strings.Join(row[1:], "; ")))
			}
			for i, line := range b.lines {
				if b.numbered {
					line = fmt.Sprintf("%d. %s", i+1, line)
				}
				lines = append(lines, plain(line))
			}
		}
		out = append(out, onefold.AgreementSection{ID: s.id, Title: s.title, Lines: lines})
	}
	return out
}

// markdown is the whole page, with one title.
func (p *page) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n", markdown(p.title, false))
	for _, s := range p.sections {
		fmt.Fprintf(&b, "\n## %s\n", s.title)
		for i := range s.blocks {
			b.WriteString("\n")
			s.blocks[i].write(&b)
		}
	}
	return b.String()
}

func (b *block) write(to *strings.Builder) {
	switch {
	case b.head != nil:
		b.writeTable(to)
	case b.listed:
		for i, line := range b.lines {
			bullet := "-"
			if b.numbered {
				bullet = strconv.Itoa(i+1) + "."
			}
			fmt.Fprintf(to, "%s %s\n", bullet, markdown(line, false))
		}
	default:
		lines := make([]string, len(b.lines))
		for i, line := range b.lines {
			lines[i] = markdown(line, false)
		}
		fmt.Fprintf(to, "%s\n", strings.Join(lines, " "))
	}
}

func (b *block) writeTable(to *strings.Builder) {
	fmt.Fprintf(to, "| %s |\n|%s\n", strings.Join(b.head, " | "), strings.Repeat(" --- |", len(b.head)))
	for _, row := range b.rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = markdown(cell, true)
		}
		fmt.Fprintf(to, "| %s |\n", strings.Join(cells, " | "))
	}
}
