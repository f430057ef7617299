package identity

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
)

// The named alphabets of a format.
const (
	AlphabetUUID      = "uuid"
	AlphabetHex       = "hex"       // 0–9 a–f
	AlphabetDigits    = "digits"    // 0–9
	AlphabetAlnum     = "alnum"     // 0–9 A–Z a–z
	AlphabetBase32Hex = "base32hex" // 0–9 a–v
)

const (
	// MinBits is how many bits of the seed a format must leave, unless the
	// contract gives a reason (I13a): with 64, two of a billion operations
	// collide with a chance of a few per cent, and a collision is re-derived.
	MinBits = 64
	// DefaultUUIDVersion is the version of an identity whose format names none
	// (I13a). It is said to be derived, not random.
	DefaultUUIDVersion = 4

	uuidLength   = 36
	uuidBits     = 128 - 4 - 2 // version and variant are not the seed's
	seedBits     = 256
	maxCharacter = 0x7E
	minCharacter = 0x21
)

// Format is what a target asks of an identity or reference. The zero Format is
// a version 4 UUID.
//
// Alphabet is uuid (also if empty), hex, digits, alnum, base32hex or a literal
// string of at least two different visible ASCII characters. Max is the longest
// text that fits, in characters; zero means as long as the seed lasts.
// UUIDVersion is 1 to 8, or zero for DefaultUUIDVersion, and goes with uuid only.
type Format struct {
	Max         int
	Alphabet    string
	UUIDVersion int
}

// FormatError says which member of a format is wrong: max, alphabet or
// uuid_version.
type FormatError struct {
	Member string
	Detail string
}

// Error returns member and detail.
func (e *FormatError) Error() string { return e.Member + ": " + e.Detail }

// namesOther says whether a literal alphabet reads like the name of one that is
// not ours. Such a word would pass as a handful of characters, which nobody
// means.
func namesOther(alphabet string) bool {
	word := strings.ToLower(alphabet)
	if number, found := strings.CutPrefix(word, "base"); found {
		return digitsAt(number, 0) != ""
	}
	return slices.Contains([]string{
		"ulid", "nanoid", "guid", "uuid", "hex", "digit", "digits", "alnum", "decimal", "numeric", "upper", "lower",
	}, word)
}

// Validate returns a *FormatError if the format is none. A format that leaves
// fewer than MinBits is valid; see Bits.
func (f Format) Validate() error {
	if f.Max < 0 {
		return &FormatError{Member: "max", Detail: "a length is above zero"}
	}
	if f.isUUID() {
		if f.Max != 0 && f.Max < uuidLength {
			return &FormatError{Member: "max", Detail: "a UUID has 36 characters and is never cut"}
		}
		if f.UUIDVersion < 0 || f.UUIDVersion > 8 {
			return &FormatError{Member: "uuid_version", Detail: "a UUID's version is 1 to 8"}
		}
		return nil
	}
	if f.UUIDVersion != 0 {
		return &FormatError{Member: "uuid_version", Detail: "only the alphabet uuid has versions"}
	}
	letters := f.letters()
	if letters == f.Alphabet && namesOther(letters) {
		return &FormatError{Member: "alphabet", Detail: "no alphabet has this name; the names are uuid, hex, digits, alnum, base32hex, and any other alphabet is written out"}
	}
	if len(letters) < 2 {
		return &FormatError{Member: "alphabet", Detail: "an alphabet has at least two characters"}
	}
	for i := range len(letters) {
		if letters[i] < minCharacter || letters[i] > maxCharacter {
			return &FormatError{Member: "alphabet", Detail: "an alphabet consists of visible ASCII characters"}
		}
		if strings.IndexByte(letters[:i], letters[i]) >= 0 {
			return &FormatError{Member: "alphabet", Detail: fmt.Sprintf("the character %q is there twice", letters[i])}
		}
	}
	return nil
}

func (f Format) isUUID() bool { return f.Alphabet == "" || f.Alphabet == AlphabetUUID }

// letters returns the alphabet's characters in order of their value.
func (f Format) letters() string {
	switch f.Alphabet {
	case AlphabetHex:
		return hexDigits
	case AlphabetDigits:
		return "0123456789"
	case AlphabetAlnum:
		return "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	case AlphabetBase32Hex:
		return "0123456789abcdefghijklmnopqrstuv"
	default:
		return f.Alphabet
	}
}

// Length returns how many characters a derived value has: always the same for
// one format. It is Max, or fewer where the seed is used up before; 0 for a
// format that does not validate.
func (f Format) Length() int {
	if f.Validate() != nil {
		return 0
	}
	if f.isUUID() {
		return uuidLength
	}
	whole := wholeSeed(len(f.letters()))
	if f.Max == 0 {
		return whole
	}
	return min(f.Max, whole)
}

// wholeSeed returns the least number of characters that hold every seed.
func wholeSeed(size int) int {
	bound := new(big.Int).Lsh(big.NewInt(1), seedBits)
	step, reached := big.NewInt(int64(size)), big.NewInt(1)
	length := 0
	for reached.Cmp(bound) < 0 {
		reached.Mul(reached, step)
		length++
	}
	return length
}

// Bits returns how many whole bits of the seed survive in the format, so that
// one with fewer than MinBits can be refused (I13a): 122 for a UUID, otherwise
// the binary logarithm of the number of texts, at most 256. It is 0 for a
// format that does not validate.
func (f Format) Bits() int {
	switch length := f.Length(); {
	case length == 0:
		return 0
	case f.isUUID():
		return uuidBits
	default:
		texts := new(big.Int).Exp(big.NewInt(int64(len(f.letters()))), big.NewInt(int64(length)), nil)
		return min(texts.BitLen()-1, seedBits)
	}
}
