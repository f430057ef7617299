package identity

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// TextOperation names one step of the rule text (I11).
type TextOperation string

// The text operations.
const (
	// TextTrim removes Unicode White_Space from both ends.
	TextTrim TextOperation = "trim"
	// TextCollapseSpaces turns each run of Unicode White_Space into one U+0020.
	TextCollapseSpaces TextOperation = "collapse_spaces"
	// TextCasefold applies full Unicode case folding (ß becomes ss).
	TextCasefold TextOperation = "casefold"
	// TextNFC applies normalization form C.
	TextNFC TextOperation = "nfc"
	// TextNFKC applies normalization form KC.
	TextNFKC TextOperation = "nfkc"
	// TextStrip removes every character that the step lists.
	TextStrip TextOperation = "strip"
	// TextStripLeadingZeros removes each digit zero (U+0030) from the front,
	// but leaves the last character.
	TextStripLeadingZeros TextOperation = "strip_leading_zeros"
)

// TextStep is one compiled step of a text rule. Characters is what TextStrip
// removes, "" for every other operation.
type TextStep struct {
	Operation  TextOperation
	Characters string
}

// CompileTextSteps reads a list of text steps: names, and {strip: characters}.
// A business identity's fields (I18) use the same list. Errors are
// *DefinitionError, with pointers from the list.
func CompileTextSteps(list *Value) ([]TextStep, error) {
	if list.Kind() != Array || list.Len() == 0 {
		return nil, wrong("", "text is a list of at least one step")
	}
	steps := make([]TextStep, 0, list.Len())
	for i, item := range list.Items() {
		step, err := compileTextStep(item)
		if err != nil {
			return nil, within("/"+strconv.Itoa(i), err)
		}
		steps = append(steps, step)
	}
	return steps, nil
}

func compileTextStep(item *Value) (TextStep, error) {
	const known = "a step is trim, collapse_spaces, casefold, nfc, nfkc, {strip: characters} or strip_leading_zeros"
	switch item.Kind() {
	case String:
		switch op := TextOperation(item.text); op {
		case TextTrim, TextCollapseSpaces, TextCasefold, TextNFC, TextNFKC, TextStripLeadingZeros:
			return TextStep{Operation: op}, nil
		default: // strip is an object, anything else unknown
		}
	case Object:
		characters, found := item.Get(string(TextStrip))
		if !found || item.Len() != 1 {
			break
		}
		if characters.Kind() != String || characters.text == "" {
			return TextStep{}, wrong("/strip", "strip takes a string of at least one character")
		}
		return TextStep{Operation: TextStrip, Characters: characters.text}, nil
	default: // no other kind is a step
	}
	return TextStep{}, wrong("", known)
}

// NormalizeText applies the steps to a text in their order.
func NormalizeText(steps []TextStep, s string) string {
	for _, step := range steps {
		switch step.Operation {
		case TextTrim:
			s = strings.TrimFunc(s, isWhiteSpace)
		case TextCollapseSpaces:
			s = collapseSpaces(s)
		case TextCasefold:
			s = casefold(s)
		case TextNFC:
			s = norm.NFC.String(s)
		case TextNFKC:
			s = norm.NFKC.String(s)
		case TextStrip:
			s = stripCharacters(s, step.Characters)
		case TextStripLeadingZeros:
			for len(s) > 1 && s[0] == '0' {
				s = s[1:]
			}
		}
	}
	return s
}

func isWhiteSpace(r rune) bool { return unicode.Is(unicode.White_Space, r) }

func collapseSpaces(s string) string {
	if strings.IndexFunc(s, isWhiteSpace) < 0 {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	inside := false
	for _, r := range s {
		space := isWhiteSpace(r)
		switch {
		case !space:
			b.WriteRune(r)
		case !inside:
			b.WriteByte(' ')
		}
		inside = space
	}
	return b.String()
}

// casefold folds ASCII by itself, because that is nearly every text. A Caser
// may hold state, so each call takes its own.
func casefold(s string) string {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return cases.Fold().String(s)
		}
	}
	return strings.ToLower(s)
}

func stripCharacters(s, characters string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(characters, r) {
			return -1
		}
		return r
	}, s)
}

// describeText writes steps for the agreement, in order.
func describeText(steps []TextStep) string {
	words := make([]string, 0, len(steps))
	for _, step := range steps {
		if step.Operation == TextStrip {
			words = append(words, "strip "+strconv.Quote(step.Characters))
			continue
		}
		words = append(words, string(step.Operation))
	}
	return strings.Join(words, ", ")
}
