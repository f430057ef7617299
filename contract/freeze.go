package contract

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"time"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/identity"
)

// Limits of a rendered request. A template may refer to one value many times,
// so that the limit of the approved request does not bound it.
const (
	maxPath   = 8 << 10 // what servers take in a request line at most
	maxHeader = 8 << 10 // what servers take in one header field at most
	maxBody   = 4 << 20 // four approved requests of the largest size
)

// freezeVersion separates the digest of frozen requests from any other, and
// from a later way of making it.
const freezeVersion = "onefold frozen request 1"

const jsonType = "application/json"

// freeze builds the outgoing bytes (M2a): Content-Type where there is a body,
// the identity's header, companions, the document's own headers, Accept; the
// body as compact JSON in the template's order.
func (t *message) freeze(m *materials, timeout time.Duration) (onefold.Frozen, error) {
	f := onefold.Frozen{Method: t.method, Timeout: timeout}
	path, err := t.path.render(m)
	if err != nil {
		return onefold.Frozen{}, mappingError(err)
	}
	f.Path = string(path)
	if t.body != nil {
		body, present, err := t.body.appendJSON(nil, m)
		if err != nil {
			return onefold.Frozen{}, mappingError(err)
		}
		if present {
			f.Body = body
		}
	}
	if f.Body != nil && !t.typed {
		f.Headers = append(f.Headers, onefold.Header{Name: "Content-Type", Value: jsonType})
	}
	for i := range t.headers {
		value, present, err := t.headers[i].render(m)
		if err != nil {
			return onefold.Frozen{}, mappingError(err)
		}
		if present {
			f.Headers = append(f.Headers, onefold.Header{Name: t.headers[i].name, Value: value})
		}
	}
	if !t.accepts {
		f.Headers = append(f.Headers, onefold.Header{Name: "Accept", Value: jsonType})
	}
	f.Digest = frozenDigest(&f)
	return f, nil
}

// frozenDigest digests everything that is sent, each piece with its length in
// front, so that no two requests have one text.
func frozenDigest(f *onefold.Frozen) string {
	h := sha256.New()
	var length [8]byte
	write := func(piece []byte) {
		binary.BigEndian.PutUint64(length[:], uint64(len(piece)))
		h.Write(length[:])
		h.Write(piece)
	}
	write([]byte(freezeVersion))
	write([]byte(f.Method))
	write([]byte(f.Path))
	binary.BigEndian.PutUint64(length[:], uint64(len(f.Headers)))
	h.Write(length[:])
	for _, header := range f.Headers {
		write([]byte(header.Name))
		write([]byte(header.Value))
	}
	if f.Body != nil {
		write(f.Body)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// mappingError is what a request that cannot be built comes back as:
// request_invalid, naming the member of the request where there is one, so that
// a dry run can show it to the caller. It holds no value.
func mappingError(err error) error {
	fault := onefold.Fault{Rule: "mapping", Detail: err.Error()}
	if missing, ok := errors.AsType[*missingError](err); ok {
		fault.Pointer = missing.place
		fault.Detail = "the target's contract needs " + missing.ref.String() + ", which is absent"
	}
	if unfit, ok := errors.AsType[*unfitError](err); ok {
		fault.Pointer = unfit.place
	}
	return &onefold.Error{
		Code:    onefold.CodeRequestInvalid,
		Message: "the request for the target cannot be built: " + fault.Detail,
		Hint:    "correct the request, or the target's mapping",
		Faults:  []onefold.Fault{fault},
		Cause:   err,
	}
}

// parseApproved reads an approved request back. It was checked at admission
// with the configured limit, so that only what is no JSON at all is refused.
func (r *Registry) parseApproved(request []byte) (*identity.Value, error) {
	v, err := r.parsed.of(request, identity.Limits{MaxBytes: max(len(request), 1)})
	if err != nil {
		return nil, jsonError(err)
	}
	return v, nil
}
