package api

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
)

// cursors makes the cursors of lists whose places a store numbers across all of
// its workspaces. Such a place, shown as it is, would tell one workspace how much
// the others do (I5); so it is sealed. A sealed cursor
//
//   - tells nothing but which of two answers are the same place: not even its
//     length depends on the place;
//   - opens for the list and the workspace that it was made for, and is nonsense
//     everywhere else;
//   - is the same for the same place, at every server of a deployment, for as
//     long as the data lives: the key follows from the deployment's id (I13a),
//     which is chance, is in no answer, and moves with the data.
//
// It keeps a volume from the curious. It protects no data: whoever can read the
// database has the key.
type cursors struct {
	seal  cipher.AEAD
	nonce []byte // key of the digest that nonces are made of
}

// cursorBlock is what the length of a place is rounded up to. Every place of
// today's stores fits into one block.
const cursorBlock = 48

// newCursors makes the cursors of a deployment.
func newCursors(deployment string) (*cursors, error) {
	derive := func(purpose string) []byte { return digest([]byte(deployment), "onefold cursor v1", purpose) }
	block, err := aes.NewCipher(derive("seal"))
	if err != nil {
		return nil, err
	}
	seal, err := cipher.NewGCM(block)
	return &cursors{seal: seal, nonce: derive("nonce")}, err
}

// digest is HMAC-SHA256 over parts, each after its length.
func digest(key []byte, parts ...string) []byte {
	mac := hmac.New(sha256.New, key)
	for _, part := range parts {
		n := len(part)
		mac.Write([]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
		mac.Write([]byte(part))
	}
	return mac.Sum(nil)
}

// close makes a cursor of a place.
func (k *cursors) close(list, workspace, place string) string {
	padded := append([]byte(place), 1)
	for len(padded)%cursorBlock != 0 {
		padded = append(padded, 0)
	}
	// The nonce is a digest of what is sealed: the same place gives the same
	// cursor, and two places never share a nonce but by a collision.
	nonce := digest(k.nonce, list, workspace, place)[:k.seal.NonceSize()]
	sealed := k.seal.Seal(nonce, nonce, padded, belongs(list, workspace))
	return base64.RawURLEncoding.EncodeToString(sealed)
}

// errNoCursor says that a text is no cursor of the list, whatever else it is.
var errNoCursor = errors.New("no cursor of this list")

// open finds the place of a cursor.
func (k *cursors) open(list, workspace, cursor string) (string, error) {
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(sealed) < k.seal.NonceSize() {
		return "", errNoCursor
	}
	nonce, sealed := sealed[:k.seal.NonceSize()], sealed[k.seal.NonceSize():]
	padded, err := k.seal.Open(nil, nonce, sealed, belongs(list, workspace))
	if err != nil {
		return "", errNoCursor
	}
	end := len(padded) - 1
	for end >= 0 && padded[end] == 0 {
		end--
	}
	if end < 0 || padded[end] != 1 {
		return "", errNoCursor
	}
	return string(padded[:end]), nil
}

// belongs ties a cursor to its list and workspace.
func belongs(list, workspace string) []byte { return digest(nil, list, workspace) }

// place opens the call's cursor, "" where it has none.
func (c *call) place() (string, error) {
	given, ok := c.query["cursor"]
	if !ok {
		return "", nil
	}
	place, err := c.server.cursors.open(c.route.name, c.who.workspace, given)
	if err != nil {
		return "", invalidParameter("cursor", err.Error())
	}
	return place, nil
}

// cursor makes a cursor of the call's list.
func (c *call) cursor(place string) string {
	return c.server.cursors.close(c.route.name, c.who.workspace, place)
}
