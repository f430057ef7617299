package identity

import (
	"math/big"
	"math/bits"
	"strconv"
	"strings"
)

const (
	// plainDigits is up to how many digits, or decimal places, the canonical
	// form spells a number out (I9).
	plainDigits = 40
	// smallDigits is how many digits always fit an unsigned 64-bit integer.
	smallDigits = 19
)

// Decimal is the exact value of a JSON number: coefficient × 10^exponent, the
// coefficient not divisible by ten. There is one Decimal for each value, so ==
// on two of them means equality by value; the zero Decimal is zero. It is small
// and copied freely. Digits are never expanded from the exponent.
type Decimal struct {
	small    uint64 // the coefficient, if it has at most smallDigits digits
	long     string // its digits, if it has more
	exponent int32
	negative bool
}

// ParseDecimal reads a text that is, whole, one JSON number by grammar and
// within the bounds of I9 as written. Otherwise it returns a *SyntaxError with
// ReasonSyntax or ReasonNumberRange and the offset in the text.
func ParseDecimal(text string) (Decimal, error) {
	n, err := scanNumber(text, 0, MaxExponent)
	if err != nil {
		return Decimal{}, err
	}
	if n.end != len(text) {
		return Decimal{}, fault(ReasonSyntax, n.end, "something follows the number")
	}
	return n.decimal(), nil
}

// decimalOf returns the value of digits that were checked when a Value was made
// of them.
func decimalOf(raw string) Decimal {
	n, err := scanNumber(raw, 0, maxCanonicalExponent)
	if err != nil || n.end != len(raw) {
		panic("identity: a number holds something other than a number")
	}
	return n.decimal()
}

// decimal returns the value of a scanned number.
func (n number) decimal() Decimal {
	whole, fraction := n.whole, strings.TrimRight(n.fraction, "0")
	exponent := n.exponent - len(fraction)
	if fraction == "" {
		kept := strings.TrimRight(whole, "0")
		exponent += len(whole) - len(kept)
		whole = kept
	}
	if whole = strings.TrimLeft(whole, "0"); whole == "" {
		fraction = strings.TrimLeft(fraction, "0")
	}
	return makeDecimal(n.negative, whole, fraction, exponent)
}

// makeDecimal takes the coefficient's digits in two pieces, without zeros in
// front or behind. The exponent is bounded by maxCanonicalExponent.
func makeDecimal(negative bool, head, tail string, exponent int) Decimal {
	if head == "" && tail == "" {
		return Decimal{}
	}
	d := Decimal{negative: negative, exponent: int32(exponent)} //nolint:gosec // bounded, see above
	if len(head)+len(tail) > smallDigits {
		d.long = head + tail
		return d
	}
	for _, piece := range [2]string{head, tail} {
		for _, c := range []byte(piece) {
			d.small = d.small*10 + uint64(c-'0')
		}
	}
	return d
}

// IsZero says whether the value is zero.
func (d Decimal) IsZero() bool { return d.small == 0 && d.long == "" }

// Sign returns -1, 0 or 1.
func (d Decimal) Sign() int {
	switch {
	case d.IsZero():
		return 0
	case d.negative:
		return -1
	default:
		return 1
	}
}

// Places returns how many decimal places the value needs, after trailing zeros
// were dropped: 2 for 1.250, 0 for 100.
func (d Decimal) Places() int { return int(max(0, -d.exponent)) }

// Equal says whether two decimals are the same value.
func (d Decimal) Equal(other Decimal) bool { return d == other }

// Cmp returns -1, 0 or 1 as d is below, equal to or above the other.
func (d Decimal) Cmp(other Decimal) int {
	if d == other {
		return 0
	}
	if s, t := d.Sign(), other.Sign(); s != t {
		if s < t {
			return -1
		}
		return 1
	}
	larger := d.cmpMagnitude(other)
	if d.negative {
		return -larger
	}
	return larger
}

// cmpMagnitude compares two decimals that are not zero, without their signs.
func (d Decimal) cmpMagnitude(other Decimal) int {
	var a, b [smallDigits + 1]byte
	x, y := d.digits(a[:0]), other.digits(b[:0])
	// The place of the leading digit decides; then the digits, read as if
	// zeros followed them.
	if p, q := len(x)+int(d.exponent), len(y)+int(other.exponent); p != q {
		if p < q {
			return -1
		}
		return 1
	}
	return strings.Compare(string(x), string(y))
}

// digits appends the coefficient's digits.
func (d Decimal) digits(dst []byte) []byte {
	if d.long != "" {
		return append(dst, d.long...)
	}
	return strconv.AppendUint(dst, d.small, 10)
}

// String returns the canonical text of the value (I9).
func (d Decimal) String() string { return string(d.AppendCanonical(nil)) }

// AppendCanonical appends the canonical text of the value (I9): plain notation
// up to 40 digits or decimal places, otherwise coefficient, e, exponent.
func (d Decimal) AppendCanonical(dst []byte) []byte {
	if d.IsZero() {
		return append(dst, '0')
	}
	if d.negative {
		dst = append(dst, '-')
	}
	var small [smallDigits + 1]byte
	digits, exponent := d.digits(small[:0]), int(d.exponent)
	switch places := -exponent; {
	case exponent >= 0 && len(digits)+exponent <= plainDigits:
		dst = append(dst, digits...)
		return appendZeros(dst, exponent)
	case exponent < 0 && places <= plainDigits && len(digits) > places:
		point := len(digits) - places
		dst = append(dst, digits[:point]...)
		dst = append(dst, '.')
		return append(dst, digits[point:]...)
	case exponent < 0 && places <= plainDigits:
		dst = append(dst, '0', '.')
		dst = appendZeros(dst, places-len(digits))
		return append(dst, digits...)
	default:
		dst = append(dst, digits...)
		dst = append(dst, 'e')
		return strconv.AppendInt(dst, int64(exponent), 10)
	}
}

func appendZeros(dst []byte, n int) []byte {
	for range n {
		dst = append(dst, '0')
	}
	return dst
}

// Mul returns the exact product. A product whose canonical form has more than
// MaxDigits digits or an exponent beyond MaxExponent is refused with a
// *SyntaxError of ReasonNumberRange, so that a result is always a number that
// could have been submitted.
func (d Decimal) Mul(other Decimal) (Decimal, error) {
	negative := d.negative != other.negative
	exponent := int(d.exponent) + int(other.exponent)
	var digits string
	if high, low := bits.Mul64(d.small, other.small); high == 0 && d.long == "" && other.long == "" {
		digits = strconv.FormatUint(low, 10)
	} else {
		digits = new(big.Int).Mul(d.coefficient(), other.coefficient()).String()
	}
	kept := strings.TrimRight(digits, "0")
	if kept == "" {
		return Decimal{}, nil
	}
	exponent += len(digits) - len(kept)
	if len(kept) > MaxDigits || exponent > MaxExponent || exponent < -MaxExponent {
		return Decimal{}, fault(ReasonNumberRange, 0, "the result has too many digits or too large an exponent")
	}
	return makeDecimal(negative, kept, "", exponent), nil
}

// coefficient returns the coefficient without its sign.
func (d Decimal) coefficient() *big.Int {
	if d.long == "" {
		return new(big.Int).SetUint64(d.small)
	}
	n, ok := new(big.Int).SetString(d.long, 10)
	if !ok {
		panic("identity: a decimal's coefficient holds something other than digits")
	}
	return n
}
