package identity

import "strings"

// MaxKeyLength is how many characters a caller key has at most (I1): enough for
// every identifier that callers make, short enough to lie in an index.
const MaxKeyLength = 255

// Codes of a KeyError.
const (
	// CodeKeyRequired: there is no key at all.
	CodeKeyRequired = "key_required"
	// CodeKeyInvalid: there is one, and it breaks the rule that is named.
	CodeKeyInvalid = "key_invalid"
)

// Rules that a KeyError names, in order of precedence.
const (
	// KeyRuleOneValue: there is exactly one value.
	KeyRuleOneValue = "one_value"
	// KeyRuleQuoted: a value that begins with a quote is, whole, a
	// structured-field string: \" and \\ are its only escapes.
	KeyRuleQuoted = "quoted"
	// KeyRuleEmpty: a key has at least one character.
	KeyRuleEmpty = "empty"
	// KeyRuleLeadingQuote: no key begins with a quote, because the header would take
	// the same text for the quoted form of another key.
	KeyRuleLeadingQuote = "leading_quote"
	// KeyRuleWhiteSpace: a key contains no white space, and none is trimmed.
	KeyRuleWhiteSpace = "white_space"
	// KeyRuleVisibleASCII: every character lies between 0x21 and 0x7E.
	KeyRuleVisibleASCII = "visible_ascii"
	// KeyRuleLength: a key has at most MaxKeyLength characters.
	KeyRuleLength = "length"
)

// KeyError says why there is no caller key (I1). Code is one of the Code
// constants, Rule one of the KeyRule constants ("" with CodeKeyRequired), Detail
// a sentence that contains nothing of the key, Hint what to do where the rule does
// not say it all.
type KeyError struct {
	Code   string
	Rule   string
	Detail string
	Hint   string
}

// Error returns code and detail.
func (e *KeyError) Error() string { return e.Code + ": " + e.Detail }

func badKey(rule, detail string) error {
	return &KeyError{Code: CodeKeyInvalid, Rule: rule, Detail: detail}
}

// ParseKey returns the caller key that the values of the Idempotency-Key header
// carry (I1), one value for each time that the header was sent. "k-1" in quotes
// and k-1 without are the same key. No other place takes the quoted form: a text
// that begins with a quote is refused there (ValidateKey), so that one text never
// is two keys. Every error is a *KeyError.
func ParseKey(headerValues []string) (string, error) {
	switch len(headerValues) {
	case 0:
		return "", &KeyError{Code: CodeKeyRequired, Detail: "the header Idempotency-Key is missing"}
	case 1:
	default:
		return "", badKey(KeyRuleOneValue, "the header Idempotency-Key is there more than once")
	}
	key := headerValues[0]
	if strings.HasPrefix(key, `"`) {
		unquoted, ok := unquoteKey(key)
		if !ok {
			return "", badKey(KeyRuleQuoted, `a value that begins with a quote ends with one, holds printable ASCII between, and escapes only \" and \\`)
		}
		key = unquoted
	}
	if err := ValidateKey(key); err != nil {
		return "", err
	}
	return key, nil
}

// unquoteKey reads a whole structured-field string (RFC 9651 section 3.3.3).
func unquoteKey(quoted string) (string, bool) {
	if len(quoted) < 2 || quoted[len(quoted)-1] != '"' {
		return "", false
	}
	inner := quoted[1 : len(quoted)-1]
	key := make([]byte, 0, len(inner))
	for i := 0; i < len(inner); i++ {
		c := inner[i]
		switch {
		case c == '"' || c < ' ' || c > maxCharacter:
			return "", false
		case c == '\\':
			i++
			if i == len(inner) || (inner[i] != '"' && inner[i] != '\\') {
				return "", false
			}
			c = inner[i]
		}
		key = append(key, c)
	}
	return string(key), true
}

// ValidateKey checks a key that is bare already (I1). A quote in it is a
// character like any other, but not at its beginning. Every error is a *KeyError.
func ValidateKey(key string) error {
	if key == "" {
		return badKey(KeyRuleEmpty, "a key has at least one character")
	}
	if key[0] == '"' {
		return &KeyError{
			Code: CodeKeyInvalid, Rule: KeyRuleLeadingQuote, Detail: "a key does not begin with a quote",
			Hint: "leave the quotes out: the quoted form belongs to the header Idempotency-Key, and means there the key between the quotes",
		}
	}
	if strings.IndexFunc(key, isWhiteSpace) >= 0 {
		return badKey(KeyRuleWhiteSpace, "a key contains no white space, and none is trimmed")
	}
	for i := range len(key) {
		if key[i] < minCharacter || key[i] > maxCharacter {
			return badKey(KeyRuleVisibleASCII, "a key consists of visible ASCII characters")
		}
	}
	if len(key) > MaxKeyLength {
		return badKey(KeyRuleLength, "a key has at most 255 characters")
	}
	return nil
}

// QuoteKey returns the quoted form of a valid key, which ParseKey reads back.
func QuoteKey(key string) (string, error) {
	if err := ValidateKey(key); err != nil {
		return "", err
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(key) + `"`, nil
}
