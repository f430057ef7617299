package api

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"io"
	"math/big"
	"strings"
)

const (
	// TokenPrefix begins every token, so that secret scanners can recognise one.
	TokenPrefix = "ofk_"
	// tokenBytes is the chance in a token: 192 bits, beyond any guessing.
	tokenBytes = 24
	// tokenDigits is how many base 62 digits 192 bits fill.
	tokenDigits = 33
	// tokenCheckDigits is how many base 62 digits a CRC-32 fills.
	tokenCheckDigits = 6

	base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// NewToken makes a token from 24 bytes of chance: the prefix, 33 base 62 digits,
// and 6 digits of a CRC-32 over what stands before them, by which scanners (and
// this server, without asking its store) tell a token from a look-alike. It is
// shown to its owner once; the store keeps HashToken of it. Scanners may use
// ofk_[0-9A-Za-z]{39}. Errors are those of random.
func NewToken(random io.Reader) (string, error) {
	chance := make([]byte, tokenBytes)
	if _, err := io.ReadFull(random, chance); err != nil {
		return "", fmt.Errorf("api: chance for a token: %w", err)
	}
	body := TokenPrefix + digits62(new(big.Int).SetBytes(chance), tokenDigits)
	return body + tokenCheck(body), nil
}

// HashToken is what the store keeps of a token: SHA-256 in lower-case hex. A
// token has enough chance in it that a slow digest would protect nothing more.
func HashToken(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// WellFormedToken tells whether a text has the form of a token, its checksum
// included. It says nothing about whether the token exists.
func WellFormedToken(token string) bool {
	const length = len(TokenPrefix) + tokenDigits + tokenCheckDigits
	if len(token) != length || !strings.HasPrefix(token, TokenPrefix) {
		return false
	}
	body := token[:length-tokenCheckDigits]
	return token[length-tokenCheckDigits:] == tokenCheck(body)
}

func tokenCheck(body string) string {
	return digits62(new(big.Int).SetUint64(uint64(crc32.ChecksumIEEE([]byte(body)))), tokenCheckDigits)
}

func digits62(n *big.Int, width int) string {
	out := make([]byte, width)
	base, digit := big.NewInt(int64(len(base62))), new(big.Int)
	for i := width - 1; i >= 0; i-- {
		n.DivMod(n, base, digit)
		out[i] = base62[digit.Int64()]
	}
	return string(out)
}
