package identity

import (
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Why two values look alike, as Alike says it: what follows "the two values".
const (
	AlikeInForm          = "are one text in two Unicode normalization forms, as with an accent that is part of its letter or a character of its own"
	AlikeUnseen          = "differ only in characters that cannot be seen, or in white space"
	AlikeInCompatibility = "differ only in forms of characters that Unicode calls compatible, such as full-width digits or joined letters"
	AlikeInShape         = "differ only in characters that look alike, such as letters of two alphabets"
	AlikeInDigits        = "are equal in double precision and differ beyond it: what reads numbers as binary floats shows them alike"
)

// Alike says why two values that differ look the same to most who read them, as
// one of the Alike constants; "" where they look different, or are equal. It is
// for explanations alone: nothing is compared by it, and which characters look
// alike is a matter of fonts, of which it knows the common cases.
func Alike(a, b *Value) string {
	switch {
	case a.Kind() != b.Kind() || EqualJSON(a, b):
		return ""
	case a.Kind() == String:
		return alikeTexts(a.text, b.text)
	case a.Kind() == Number:
		// Beyond the range of a float both are infinite, or zero: alike as well.
		x, _ := strconv.ParseFloat(a.text, 64)
		y, _ := strconv.ParseFloat(b.text, 64)
		if x == y {
			return AlikeInDigits
		}
	}
	return ""
}

func alikeTexts(a, b string) string {
	for _, way := range []struct {
		words string
		form  func(string) string
	}{
		{AlikeInForm, norm.NFC.String},
		{AlikeUnseen, seen},
		{AlikeInCompatibility, func(s string) string { return seen(norm.NFKC.String(s)) }},
		{AlikeInShape, func(s string) string { return strings.Map(shape, norm.NFD.String(seen(norm.NFKC.String(s)))) }},
	} {
		if way.form(a) == way.form(b) {
			return way.words
		}
	}
	return ""
}

// seen is what can be seen of a text: nothing without width or shape, and white
// space only as gaps between words.
func seen(s string) string {
	s = strings.Map(func(r rune) rune {
		const blank = '\u2800' // of Braille: no white space, and no ink
		switch {
		case isWhiteSpace(r), r == blank:
			return ' '
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point):
			return -1
		}
		return r
	}, s)
	return strings.Join(strings.Fields(norm.NFC.String(s)), " ")
}

// shape is one character for all that look like it in common fonts.
func shape(r rune) rune {
	switch r {
	case 'O', '\u041e', '\u039f', '\u0555':
		return '0'
	case 'I', '1', '|', '\u0399', '\u0406', '\u04c0', '\u04cf', '\u01c0', '\u2223':
		return 'l'
	case '\u0417', '\u04e0', '\u01b7', '\u0292':
		return '3'
	}
	if r >= '\u0370' && r <= '\u058f' {
		r = shapeOfLetter(r)
	}
	return shapeOfMark(r)
}

// shapeOfLetter knows the Greek, Cyrillic and Armenian letters that look like
// Latin ones.
func shapeOfLetter(r rune) rune {
	// A Latin letter, and behind it those that look like it, which would be no use
	// to a reader as they are.
	const groups = "a\u0430\u03b1 c\u0441\u03f2 d\u0501 e\u0435 h\u04bb i\u0456\u03b9 j\u0458\u03f3 k\u043a\u03ba " +
		"n\u0578 o\u043e\u03bf\u0585 p\u0440\u03c1 q\u051b s\u0455 u\u03c5\u057d v\u03bd\u0475 w\u051d " +
		"x\u0445\u03c7 y\u0443\u03b3 ß\u03b2 " +
		"A\u0410\u0391 B\u0412\u0392 C\u0421\u03f9 E\u0415\u0395 F\u03dc G\u050c H\u041d\u0397 J\u0408\u037f " +
		"K\u041a\u039a M\u041c\u039c N\u039d P\u0420\u03a1 Q\u051a S\u0405 T\u0422\u03a4 V\u0474 W\u051c " +
		"X\u0425\u03a7 Y\u03a5\u04ae Z\u0396 "
	latin, first := r, true
	for _, c := range groups {
		switch {
		case c == ' ':
			first = true
		case first:
			latin, first = c, false
		case c == r:
			return latin
		}
	}
	return r
}

// shapeOfMark knows dashes, quotes and the like.
func shapeOfMark(r rune) rune {
	switch r {
	case '\u2010', '\u2011', '\u2012', '\u2013', '\u2014', '\u2015', '\u2212', '\u2043', '\u02d7', '\u30fc', '\u2500':
		return '-'
	case '\u2019', '\u2018', '\u201b', '\u02bc', '\u02bb', '\u2032', '`', '\u00b4', '\u02b9', '\u055a', '\u05f3', '\u02c8':
		return '\''
	case '\u201c', '\u201d', '\u201f', '\u2033', '\u05f4', '\u02ba':
		return '"'
	case '\u201a', '\u060c', '\u066b':
		return ','
	case '\u2236', '\u0589', '\u05c3', '\u02d0':
		return ':'
	case '\u2215', '\u2044', '\u2571':
		return '/'
	case '\u2217', '\u204e':
		return '*'
	case '\u223c', '\u02dc', '\u301c':
		return '~'
	case '\u2219', '\u22c5', '\u2022', '\u30fb', '\u2027':
		return '\u00b7'
	}
	return r
}
