package httptarget_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/httptarget"
	"github.com/onefold-dev/onefold/internal/secret"
)

// authenticated is a write that authenticates in some way.
func authenticated(url string, auth onefold.Auth) onefold.Dispatch {
	d := write(url, true, []byte(`{"total":1}`), onefold.Header{Name: "X-Day", Value: "mon"}, onefold.Header{Name: "x-day", Value: "tue"})
	d.Request.Path = "/bills?b=1"
	d.Route.Auth = auth
	d.Route.Secrets = map[string]string{"token": "env:TOKEN", "user": "env:USER", "weird": "env:WEIRD", "none": "env:NONE", "line": "env:LINE", "empty": "env:EMPTY"}
	return d
}

// withSecrets is a vault with one of every kind.
func withSecrets(o *httptarget.Options) {
	o.Secrets = vault{
		"acme env:TOKEN": canary, "acme env:USER": "user-" + canary, "acme env:WEIRD": canary + `/+"&<é ü`, "acme env:LINE": canary + "\r\nX: 1",
		"acme env:EMPTY": "", "globex env:TOKEN": "other",
	}
	o.Now = func() time.Time { return time.Date(2026, 11, 29, 18, 39, 0, 0, time.UTC) }
}

// signed is the HMAC that a target would compute.
func signed(sum func() hash.Hash, parts ...string) string {
	mac := hmac.New(sum, []byte(canary))
	mac.Write([]byte(strings.Join(parts, "\n")))
	return hex.EncodeToString(mac.Sum(nil))
}

// Each way to authenticate, as the target sees it.
func TestHowARequestAuthenticates(t *testing.T) {
	t.Parallel()
	const target, payload = "/base/bills?b=1", `{"total":1}`
	bodySum := sha256.Sum256([]byte(payload))
	for _, v := range []struct {
		name   string
		auth   onefold.Auth
		header string
		want   string
	}{
		{"none", onefold.Auth{}, "Authorization", ""},
		{"bearer", onefold.Auth{Scheme: "bearer", Secret: "token"}, "Authorization", "Bearer " + canary},
		{"basic", onefold.Auth{Scheme: "basic", User: "u", Secret: "token"}, "Authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte("u:"+canary))},
		{"basic, secret user", onefold.Auth{Scheme: "basic", UserSecret: "user", Secret: "token"}, "Authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte("user-"+canary+":"+canary))},
		{"header", onefold.Auth{Scheme: "header", Name: "X-Api-Key", Secret: "token"}, "X-Api-Key", canary},
		{"header with prefix", onefold.Auth{Scheme: "header", Name: "Authorization", Prefix: "Token ", Secret: "token"}, "Authorization", "Token " + canary},
		{"query", onefold.Auth{Scheme: "query", Name: "api key", Secret: "weird"}, "", target + "&api+key=" + canary + "%2F%2B%22%26%3C%C3%A9+%C3%BC"},
		{"hmac", onefold.Auth{Scheme: "hmac", Secret: "token"}, "X-Signature", signed(sha256.New, "POST", target, payload)},
		{
			"hmac of parts",
			onefold.Auth{Scheme: "hmac", Secret: "token", Name: "X-Mac", Prefix: "v1=", Algorithm: "sha512", Signed: []string{"date", "host", "path", "query", "header:X-DAY", "header:none", "body_sha256"}},
			"X-Mac", "v1=" + signed(sha512.New, "Sun, 29 Nov 2026 18:39:00 GMT", "HOST", "/base/bills", "b=1", "mon, tue", "", hex.EncodeToString(bodySum[:])),
		},
	} {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			got := make(chan *http.Request, 1)
			s := serve(t, nil, func(p *peer) {
				if r, _, err := p.request(); err == nil {
					got <- r
					p.say(created)
				}
			})
			if x := carrier(t, withSecrets).Carry(t.Context(), authenticated(s.url(), v.auth)); x.Status != http.StatusCreated {
				t.Fatalf("status %d, failure %q: %s", x.Status, x.Failure, x.Detail)
			}
			r := <-got
			want, is := v.want, r.Header.Get(v.header)
			if v.header == "" {
				is = r.RequestURI
			}
			if strings.HasPrefix(want, "v1=") { // the port is known only now
				want = "v1=" + signed(sha512.New, "Sun, 29 Nov 2026 18:39:00 GMT", r.Host, "/base/bills", "b=1", "mon, tue", "", hex.EncodeToString(bodySum[:]))
				if r.Header.Get("Date") != "Sun, 29 Nov 2026 18:39:00 GMT" {
					t.Errorf("date %q", r.Header.Get("Date"))
				}
			}
			if is != want {
				t.Errorf("got %q, want %q", is, want)
			}
		})
	}
}

// Whoever has to mend a connection is told which reference it is and what is the
// matter, whatever its name looks like; a text that is no reference of the
// workspace may be the secret itself, and is not told.
func TestAMissingSecretIsToldByItsReference(t *testing.T) {
	t.Parallel()
	s := serve(t, nil, whenRead(func(p *peer) { p.say(created) }))
	folder := t.TempDir()
	c := carrier(t, func(o *httptarget.Options) {
		o.Secrets = &secret.Resolver{Folder: folder, LookupEnv: func(string) (string, bool) { return "", false }}
	})
	tell := func(ref string) onefold.Exchange {
		d := authenticated(s.url(), onefold.Auth{Scheme: "bearer", Secret: "token"})
		d.Route.Secrets = map[string]string{"token": ref}
		return c.Carry(t.Context(), d)
	}
	for _, name := range []string{"TOKEN", "SECRET", "KEY", "PASSWORD", "BASIC", "BEARER", "SESSION_ID", "SK_LIVE", "Authorization"} {
		for ref, why := range map[string]string{
			"env:ONEFOLD_S_ACME__" + name: " is not set", "file:acme/" + name: " is not there", "file:acme/" + strings.ToLower(name): " is not there",
		} {
			want := `the secret "token" cannot be had: ` + ref + why
			if x := tell(ref); !x.NotSent || x.Failure != onefold.FailureSecret || x.Detail != want || x.Evidence.Detail != want {
				t.Errorf("%s: %q, evidence %q", ref, x.Detail, x.Evidence.Detail)
			}
		}
	}
	for _, ref := range []string{canary, "env:" + canary, "env:ONEFOLD_S_GLOBEX__" + canary, "file:globex/" + canary, "file:" + canary, "store:" + canary, ""} {
		if x := tell(ref); !x.NotSent || x.Failure != onefold.FailureSecret || strings.Contains(fmt.Sprintf("%+v", x), canary) || x.Detail == "" {
			t.Errorf("%q: %+v", ref, x)
		}
	}
	if n := s.connections(); n != 0 {
		t.Errorf("%d connections", n)
	}
}

// A credential that cannot be had, or cannot be sent, sends nothing.
func TestWithoutItsCredentialNothingIsSent(t *testing.T) {
	t.Parallel()
	s := serve(t, nil, whenRead(func(p *peer) { p.say(created) }))
	c := carrier(t, withSecrets)
	for _, auth := range []onefold.Auth{
		{Scheme: "bearer", Secret: "none"},
		{Scheme: "bearer", Secret: "unnamed"},
		{Scheme: "bearer", Secret: "line"},
		{Scheme: "bearer", Secret: "empty"},
		{Scheme: "bearer"},
		{Scheme: "basic", User: "a:b", Secret: "token"},
		{Scheme: "header", Secret: "token"},
		{Scheme: "header", Name: "A: B", Secret: "token"},
		{Scheme: "header", Name: "Content-Length", Secret: "token"},
		{Scheme: "header", Name: "X", Prefix: "\n", Secret: "token"},
		{Scheme: "query", Secret: "token"},
		{Scheme: "hmac", Secret: "token", Algorithm: "md5"},
		{Scheme: "hmac", Secret: "token", Signed: []string{"everything"}},
		{Scheme: "hmac", Secret: "token", Signed: []string{"date", "date"}},
		{Scheme: "mtls", Certificate: "token", Key: "token"},
		{Scheme: "oauth2", Secret: "token"},
	} {
		x := c.Carry(t.Context(), authenticated(s.url(), auth))
		if !x.NotSent || x.Failure != "secret" || x.Detail == "" {
			t.Errorf("%+v: NotSent %v, failure %q: %s", auth, x.NotSent, x.Failure, x.Detail)
		}
		if strings.Contains(fmt.Sprintf("%+v", x), canary) {
			t.Errorf("%+v: %+v", auth, x)
		}
	}
	d := authenticated(s.url(), onefold.Auth{Scheme: "header", Name: "X-DAY", Secret: "token"})
	if x := c.Carry(t.Context(), d); !x.NotSent || x.Failure != "protocol" {
		t.Errorf("two values for one field: NotSent %v, failure %q", x.NotSent, x.Failure)
	}
	if n := s.connections(); n != 0 {
		t.Errorf("%d connections", n)
	}
}

// A target that repeats everything it was sent, in every spelling, leads no
// secret into evidence, detail or headers. (Body is the target's own word, for
// judging, and is left out of this look.)
func TestNoSecretGetsIntoAnExchange(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"token", "weird"} {
		for _, scheme := range []string{"bearer", "basic", "header", "query", "hmac"} {
			for _, ending := range []string{"whole", "cut", "broken"} {
				t.Run(name+" "+scheme+" "+ending, func(t *testing.T) {
					t.Parallel()
					s := serve(t, nil, func(p *peer) {
						r, _, err := p.request()
						if err != nil {
							return
						}
						secret := canary
						if name == "weird" {
							secret += `/+"&<é ü`
						}
						quoted, _ := json.Marshal(map[string]string{"echo": secret, "uri": r.RequestURI})
						mess := fmt.Sprintf("%s %s %s %s %x %s\n%v %s", quoted, secret, base64.StdEncoding.EncodeToString([]byte(secret)),
							base64.RawURLEncoding.EncodeToString([]byte(secret)), secret,
							r.RequestURI, r.Header, strings.Repeat("-", 40_000)+secret)
						say := answer(http.StatusBadRequest, mess, "X-Request-Id: "+r.Header.Get("Authorization")+r.Header.Get("X-Api-Key"), "X-Echo: "+secret, "X-Uri: "+r.RequestURI)
						switch ending {
						case "cut":
							say = say[:len(say)-10]
						case "broken":
							say = strings.Replace(say, "X-Echo: ", "X-Echo ", 1)
						}
						p.say(say)
					})
					c := carrier(t, withSecrets)
					x := c.Carry(t.Context(), authenticated(s.url(), onefold.Auth{Scheme: scheme, Name: "X-Api-Key", User: "u", Secret: name}))
					if x.Status != http.StatusBadRequest || ending != "broken" && (len(x.Body) == 0 || x.Evidence.Excerpt == "") {
						t.Fatalf("status %d, failure %q: %s", x.Status, x.Failure, x.Detail)
					}
					x.Body = nil
					text, err := json.Marshal(x)
					if err != nil {
						t.Fatal(err)
					}
					printed := string(text) + fmt.Sprintf("%v %+v %#v", x, x, x)
					for _, form := range []string{canary, hex.EncodeToString([]byte(canary)), base64.RawStdEncoding.EncodeToString([]byte(canary))[:16]} {
						if strings.Contains(printed, form) {
							t.Errorf("%q in %s", form, printed)
						}
					}
					if len(x.Evidence.Excerpt) > onefold.MaxExcerpt {
						t.Errorf("an excerpt of %d bytes", len(x.Evidence.Excerpt))
					}
				})
			}
		}
	}
}

// The digest of a credential is equal where the credential is, and tells
// nothing else: it changes with every part and with the key.
//
// Proves: M11a
func TestTheDigestOfACredential(t *testing.T) {
	t.Parallel()
	c := carrier(t, withSecrets)
	other := carrier(t, func(o *httptarget.Options) { withSecrets(o); o.DigestKey = []byte("fedcba9876543210") })
	route := func(auth onefold.Auth) onefold.Route { return authenticated("http://erp.example", auth).Route }
	seen := map[string]string{}
	for _, auth := range []onefold.Auth{
		{},
		{Scheme: "bearer", Secret: "token"},
		{Scheme: "bearer", Secret: "user"},
		{Scheme: "header", Name: "X", Secret: "token"},
		{Scheme: "basic", User: "a", Secret: "token"},
		{Scheme: "basic", User: "b", Secret: "token"},
		{Scheme: "basic", UserSecret: "user", Secret: "token"},
	} {
		for name, carrier := range map[string]*httptarget.Carrier{"": c, "other key ": other} {
			first, err := carrier.CredentialDigest(t.Context(), route(auth))
			if err != nil || len(first) != 64 {
				t.Fatalf("%+v: %q, %v", auth, first, err)
			}
			what := name + fmt.Sprintf("%+v", auth)
			if was, ok := seen[first]; ok {
				t.Errorf("%s has the digest of %s", what, was)
			}
			seen[first] = what
			again := route(auth)
			again.URL, again.Revision, again.Connection = "http://other.example", 9, "other"
			if second, err := carrier.CredentialDigest(t.Context(), again); err != nil || second != first {
				t.Errorf("%s: %q, %v, at another place", what, second, err)
			}
		}
	}
	r := route(onefold.Auth{Scheme: "bearer", Secret: "none"})
	if got, err := c.CredentialDigest(t.Context(), r); err == nil || got != "" || strings.Contains(err.Error(), canary) {
		t.Errorf("%q, %v", got, err)
	}
	r = route(onefold.Auth{Scheme: "bearer", Secret: "user"})
	r.Workspace = "globex"
	if got, err := c.CredentialDigest(t.Context(), r); err == nil {
		t.Errorf("another workspace's secret: %q", got)
	}
}
