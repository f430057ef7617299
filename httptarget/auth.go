package httptarget

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/tls"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"hash"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/internal/secret"
)

// The schemes of onefold.Auth.
const (
	schemeBearer = "bearer"
	schemeBasic  = "basic"
	schemeHeader = "header"
	schemeQuery  = "query"
	schemeHMAC   = "hmac"
	schemeMTLS   = "mtls"
)

// defaultSignature is the header of an HMAC whose document names none.
const defaultSignature = "X-Signature"

// errNothing stands for a resolver that answers with no byte.
var errNothing = errors.New("nothing is there")

// credential is what a route authenticates with, resolved for one use.
type credential struct {
	auth   onefold.Auth
	values []secret.Value // in the order of names: user, secret / certificate, key
	user   string
	// header is the field that the scheme sets, if it sets one.
	header      string
	certificate *tls.Certificate
	identity    string // digest of the client certificate
	// derived are forms of the secrets that go out, for blotting.
	derived []secret.Value
}

// credential resolves a route's secrets. Details name entries and references of
// the document, never values, and of what a resolver said only what package
// secret vouches for.
func (c *Carrier) credential(ctx context.Context, r onefold.Route) (*credential, *failure) {
	cred := &credential{auth: r.Auth, user: r.Auth.User}
	var names []string
	switch r.Auth.Scheme {
	case "":
		return cred, nil
	case schemeBasic:
		if r.Auth.UserSecret != "" {
			names = append(names, r.Auth.UserSecret)
		}
		names = append(names, r.Auth.Secret)
	case schemeBearer, schemeHeader, schemeQuery, schemeHMAC:
		names = append(names, r.Auth.Secret)
	case schemeMTLS:
		names = append(names, r.Auth.Certificate, r.Auth.Key)
	default:
		return cred, failf(failSecret, "the connection authenticates in a way that is not known")
	}
	for _, name := range names {
		ref, ok := r.Secrets[name]
		if !ok {
			return cred, failf(failSecret, "the connection names no secret %q", name)
		}
		value, err := c.options.Secrets.Resolve(ctx, r.Workspace, ref)
		switch {
		case err != nil && ctx.Err() != nil:
			return cred, ended(ctx, "while a secret was resolved")
		case err != nil:
			return cred, failf(failSecret, "the secret %q cannot be had: %s", name, secret.Why(r.Workspace, ref, err))
		case len(value) == 0:
			return cred, failf(failSecret, "the secret %q cannot be had: %s", name, secret.Why(r.Workspace, ref, errNothing))
		}
		cred.values = append(cred.values, secret.New(value))
	}
	return cred, cred.prepare()
}

// prepare makes of the values what the scheme needs.
func (cred *credential) prepare() *failure {
	switch a := cred.auth; a.Scheme {
	case schemeBearer:
		cred.header = "Authorization"
	case schemeBasic:
		cred.header = "Authorization"
		if len(cred.values) == 2 {
			cred.user = string(cred.values[0].Reveal())
		}
		if strings.Contains(cred.user, ":") {
			return failf(failSecret, "a user name with a colon cannot be sent")
		}
	case schemeHeader:
		cred.header = a.Name
	case schemeHMAC:
		if cred.header = a.Name; a.Name == "" {
			cred.header = defaultSignature
		}
	case schemeQuery:
		if a.Name == "" {
			return failf(failSecret, "the connection does not name the query parameter of its secret")
		}
	case schemeMTLS:
		pair, err := tls.X509KeyPair(cred.values[0].Reveal(), cred.values[1].Reveal())
		if err != nil {
			return failf(failSecret, "the client certificate %q and its key %q do not fit or cannot be read", a.Certificate, a.Key)
		}
		sum := sha256.Sum256(pair.Certificate[0])
		cred.certificate, cred.identity = &pair, hex.EncodeToString(sum[:])
	}
	sets := cred.header != "" || cred.auth.Scheme == schemeHeader
	if sets && (!isToken(cred.header) || isFraming(cred.header)) {
		return failf(failSecret, "the connection's credential is to stand in a header that cannot be sent")
	}
	return nil
}

// last is the secret itself: the only value, or the one after the user.
func (cred *credential) last() []byte { return cred.values[len(cred.values)-1].Reveal() }

// signable is a request before its credentials.
type signable struct {
	method, host, target string
	headers              []onefold.Header
	body                 []byte
}

// sign adds the credential: it returns the fields that go out besides the
// frozen ones, and may lengthen the target.
func (cred *credential) sign(d *signable, now func() time.Time) ([]onefold.Header, *failure) {
	var extra []onefold.Header
	switch a := cred.auth; a.Scheme {
	case "", schemeMTLS:
		return nil, nil
	case schemeBearer:
		extra = append(extra, onefold.Header{Name: cred.header, Value: "Bearer " + string(cred.last())})
	case schemeBasic:
		pair := cred.user + ":" + string(cred.last())
		coded := base64.StdEncoding.EncodeToString([]byte(pair))
		cred.derived = append(cred.derived, secret.New([]byte(coded)))
		extra = append(extra, onefold.Header{Name: cred.header, Value: "Basic " + coded})
	case schemeHeader:
		extra = append(extra, onefold.Header{Name: cred.header, Value: a.Prefix + string(cred.last())})
	case schemeQuery:
		mark := "?"
		if strings.Contains(d.target, "?") {
			mark = "&"
		}
		d.target += mark + url.QueryEscape(a.Name) + "=" + url.QueryEscape(string(cred.last()))
	case schemeHMAC:
		var why *failure
		if extra, why = cred.signature(d, now); why != nil {
			return nil, why
		}
	}
	for _, h := range extra {
		if !isFieldValue(h.Value) {
			return nil, failf(failSecret, "the secret %q cannot stand in a header", cred.auth.Secret)
		}
	}
	return extra, nil
}

// signature makes an HMAC over the named parts, each followed by a line feed
// but the last, in lower-case hex behind the prefix. The parts: method; target
// (path and query as sent), path, query; host; date (an added Date field);
// body; body_sha256 (hex); header:NAME (values joined by ", ", empty where the
// request has none). Without a list: method, target and body.
func (cred *credential) signature(d *signable, now func() time.Time) ([]onefold.Header, *failure) {
	var sum func() hash.Hash
	switch cred.auth.Algorithm {
	case "", "sha256":
		sum = sha256.New
	case "sha512":
		sum = sha512.New
	default:
		return nil, failf(failSecret, "the signature's algorithm is not known")
	}
	parts := cred.auth.Signed
	if len(parts) == 0 {
		parts = []string{"method", "target", "body"}
	}
	var extra []onefold.Header
	mac := hmac.New(sum, cred.last())
	path, query, _ := strings.Cut(d.target, "?")
	for i, part := range parts {
		if i > 0 {
			mac.Write([]byte("\n"))
		}
		switch name, header := strings.CutPrefix(part, "header:"); {
		case header:
			mac.Write([]byte(d.value(name)))
		case part == "method":
			mac.Write([]byte(d.method))
		case part == "target":
			mac.Write([]byte(d.target))
		case part == "path":
			mac.Write([]byte(path))
		case part == "query":
			mac.Write([]byte(query))
		case part == "host":
			mac.Write([]byte(d.host))
		case part == "body":
			mac.Write(d.body)
		case part == "body_sha256":
			body := sha256.Sum256(d.body)
			mac.Write([]byte(hex.EncodeToString(body[:])))
		case part == "date" && len(extra) == 0:
			if now == nil || d.value("Date") != "" {
				return nil, failf(failSecret, "the signature's date cannot be set")
			}
			date := now().UTC().Format(http.TimeFormat)
			extra = append(extra, onefold.Header{Name: "Date", Value: date})
			mac.Write([]byte(date))
		default:
			return nil, failf(failSecret, "the signature covers a part that is not known")
		}
	}
	code := hex.EncodeToString(mac.Sum(nil))
	cred.derived = append(cred.derived, secret.New([]byte(code)))
	return append(extra, onefold.Header{Name: cred.header, Value: cred.auth.Prefix + code}), nil
}

// value returns what a frozen field says, its values joined.
func (d *signable) value(name string) string {
	var values []string
	for _, h := range d.headers {
		if strings.EqualFold(h.Name, name) {
			values = append(values, h.Value)
		}
	}
	return strings.Join(values, ", ")
}
