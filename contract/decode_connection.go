package contract

import (
	"net/url"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/identity"
)

// The schemes of auth.
const (
	schemeBearer = "bearer"
	schemeBasic  = "basic"
	schemeHeader = "header"
	schemeQuery  = "query"
	schemeHMAC   = "hmac"
	schemeMTLS   = "mtls"
	schemeOAuth2 = "oauth2"
)

// defaultAlgorithm is hmac's.
const defaultAlgorithm = "sha256"

// defaultSigned is what hmac signs where the document names nothing.
func defaultSigned() []string { return []string{"method", "target", "body"} }

// signedPattern is one part of what hmac signs.
var signedPattern = regexp.MustCompile("^(method|target|path|query|host|date|body|body_sha256|header:[A-Za-z0-9!#$%&'*+.^_`|~-]+)$")

// connectionShape is the table of a connection document.
func connectionShape() *objectShape {
	return object(
		need("kind", constShape{identity.NewString(string(KindConnection))}, "What this document is."),
		need("workspace", plainName, "Whose account it is."),
		need("name", plainName, "The account's name here."),
		may("account", accountName, "Which account at the target; the name by default. Another account is another connection."),
		need("target", textShape{what: "a target and its version such as sandbox-erp@1", pattern: targetRefPattern, max: maxName}, "The kind of external system and the version of its document."),
		need("url", textShape{what: "an address", max: maxSentence, refuse: refuseURL}, "The address, http or https, below which all paths lie; go://NAME where Go functions carry the requests."),
		may("params", orNull(anyShape{object: true, what: "an object"}), "Values for $connection/params."),
		may("auth", orNull(authShape()), "How requests authenticate; exactly one scheme."),
		may("secrets", orNull(mapShape{
			name:   secretName,
			values: textShape{what: "a reference such as env:ONEFOLD_S_ACME__TOKEN or file:acme/token", max: maxSentence},
		}), "References to secrets, never secrets themselves."),
		need("owner", personName, "Whose the unresolved operations are."),
		may("mode", words(string(onefold.ModeAutonomous), string(onefold.ModeApproval), string(onefold.ModeDisabled)), "How the connection may act; autonomous by default."),
		may("limits", orNull(object(
			may("in_flight", integerShape{min: 1, max: maxLimit}, "Attempts and look-ups at once; 8 by default."),
			may("per_second", numberShape{max: maxLimit, over: true}, "Requests in a second; no limit by default."),
			may("unresolved", integerShape{min: 1, max: maxLimit}, "Unresolved operations beyond which new ones are refused (M16a); 200 by default."),
		)), "Limits for the whole deployment."),
		may("acknowledged", orNull(object(
			need("by", personName, "Who accepts the limitation."),
			need("date", isoDate, "When."),
			need("reason", sentence, "Why."),
		)), "Needed for autonomous where the protection is none or detectable (M27)."),
	).with(func(c *checker, at string, v *identity.Value) {
		checkSecrets(c, at, v)
		checkAuthSecrets(c, at, v)
		checkGoConnection(c, at, v)
	})
}

// authShape is exactly one scheme.
func authShape() *objectShape {
	secret := func(doc string) member { return need("secret", secretName, doc) }
	schemes := object(
		may(schemeBearer, secretName, "The secret that is the bearer token."),
		may(schemeBasic, object(
			may("user", sentence, "The user's name."),
			may("user_secret", secretName, "The secret that is the user's name."),
			need("password", secretName, "The secret that is the password."),
		).with(checkBasicUser), "HTTP basic authentication."),
		may(schemeHeader, object(
			need("name", headerName, "The header's name."), secret("The secret that is its value."),
			may("prefix", textShape{what: "text", max: maxName}, "What stands before the secret."),
		), "A header of its own."),
		may(schemeQuery, object(
			need("name", textShape{what: "a parameter's name", pattern: linePattern, max: maxName}, "The parameter's name."), secret("The secret that is its value."),
		), "A query parameter."),
		may(schemeHMAC, object(
			secret("The secret that is the key."),
			need("name", headerName, "The header that carries the signature."),
			may("prefix", textShape{what: "text", max: maxName}, "What stands before the signature."),
			may("algorithm", words(defaultAlgorithm, "sha512"), "sha256 by default."),
			may("signed", listShape{of: textShape{
				what: "one of method, target, path, query, host, date, body, body_sha256, header:NAME", pattern: signedPattern, max: maxName,
			}, min: 1, distinct: true}, "What is signed, in this order, each part but the last followed by a line feed; method, target and body by default."),
		), "A signature over the request."),
		may(schemeMTLS, object(
			need("certificate", secretName, "The secret that is the certificate chain (PEM)."),
			need("key", secretName, "The secret that is its private key (PEM)."),
		), "A client certificate."),
		may(schemeOAuth2, laterShape{same: []*identity.Value{identity.NewNull()}}, "OAuth 2; not supported by this release."),
	)
	return schemes.with(func(c *checker, at string, v *identity.Value) {
		if scheme, _ := authScheme(v); scheme == "" || v.Len() > 1 {
			c.fault(at, "wants exactly one scheme", "write auth: {bearer: NAME}, with NAME under secrets")
		}
	})
}

// authScheme is the scheme that is written.
func authScheme(v *identity.Value) (string, *identity.Value) {
	for _, scheme := range []string{schemeBearer, schemeBasic, schemeHeader, schemeQuery, schemeHMAC, schemeMTLS} {
		if member := get(v, scheme); member != nil {
			return scheme, member
		}
	}
	return "", nil
}

// checkBasicUser wants the user's name once: as text or as a secret.
func checkBasicUser(c *checker, at string, v *identity.Value) {
	if (get(v, "user") == nil) == (get(v, "user_secret") == nil) {
		c.fault(at, "wants user or user_secret, one of them", "")
	}
}

// refuseURL says why an address is not one that paths can be put below.
func refuseURL(s string) string {
	u, err := url.Parse(s)
	switch {
	case err != nil:
		// The error would repeat the address, and with it what should not be there.
		return "the address cannot be read"
	case isGoAddress(u) && u.User == nil && u.RawQuery == "" && !u.ForceQuery && !strings.Contains(s, "#"):
		return ""
	case u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "", u.Opaque != "":
		return "wants an absolute address that begins with https:// or http://"
	case !goodPort(u):
		return "the address has no port between 1 and 65535"
	case u.User != nil:
		return "an address has no user or password in it; write them under auth and secrets"
	case u.RawQuery != "" || u.ForceQuery || strings.Contains(s, "#"):
		return "the address of a connection has no query and no fragment"
	}
	return ""
}

func goodPort(u *url.URL) bool {
	if u.Port() == "" {
		return !strings.HasSuffix(u.Host, ":")
	}
	port, err := strconv.Atoi(u.Port())
	return err == nil && port >= 1 && port <= 65535
}

// SecretEnvPrefix is how the names of a workspace's environment secrets begin.
func SecretEnvPrefix(workspace string) string {
	return "ONEFOLD_S_" + strings.ToUpper(strings.ReplaceAll(workspace, "-", "_")) + "__"
}

var envNamePattern = regexp.MustCompile(`^[A-Z0-9_]+$`)

// checkSecrets holds secret references against the workspace: a document of one
// workspace can never name a secret of another.
func checkSecrets(c *checker, at string, v *identity.Value) {
	workspace := textOf(v, "workspace")
	for _, m := range get(v, "secrets").Members() {
		below := identity.JoinPointer(at+"/secrets", m.Name)
		scheme, rest, _ := strings.Cut(m.Value.Text(), ":")
		switch scheme {
		case "env":
			prefix := SecretEnvPrefix(workspace)
			if suffix, ok := strings.CutPrefix(rest, prefix); !ok || !envNamePattern.MatchString(suffix) {
				c.fault(below, "the variable's name has to begin with "+prefix, "write env:"+prefix+"NAME, in capitals")
			}
		case "file":
			if !isFileOf(rest, workspace) {
				c.fault(below, "the file has to lie below "+workspace+"/ in the secrets folder", "write file:"+workspace+"/NAME")
			}
		case "store":
			c.later(below, "a secret in the encrypted store")
		default:
			// The text may be the secret itself, so it is not repeated.
			c.fault(below, "a secret is written as a reference, never as itself", "write env:"+SecretEnvPrefix(workspace)+"NAME or file:"+workspace+"/NAME")
		}
	}
}

// isFileOf says whether a path lies below the workspace's folder as written;
// links are looked at when the file is read.
func isFileOf(file, workspace string) bool {
	if path.Clean(file) != file || strings.ContainsAny(file, "\\\x00:") {
		return false
	}
	return strings.HasPrefix(file, workspace+"/")
}

// checkAuthSecrets wants every secret that auth names to be under secrets.
func checkAuthSecrets(c *checker, at string, v *identity.Value) {
	scheme, auth := authScheme(get(v, "auth"))
	below := at + "/auth/" + scheme
	want := func(pointer, secret string) {
		if _, there := get(v, "secrets").Get(secret); !there && secret != "" {
			c.fault(pointer, "there is no secret "+quoted(secret), "add it under secrets")
		}
	}
	if scheme == schemeBearer {
		want(below, auth.Text())
		return
	}
	for _, name := range []string{"secret", "user_secret", "password", "certificate", "key"} {
		want(below+"/"+name, textOf(auth, name))
	}
}

// fillConnection reads a connection that was checked.
func fillConnection(v *identity.Value) *Connection {
	c := &Connection{
		Workspace: textOf(v, "workspace"), Name: textOf(v, "name"), URL: strings.TrimRight(textOf(v, "url"), "/"),
		Params: get(v, "params"), Auth: fillAuth(get(v, "auth")), Owner: textOf(v, "owner"),
		Mode: onefold.Mode(textOr(v, "mode", string(onefold.ModeAutonomous))),
	}
	c.Account = textOr(v, "account", c.Name)
	c.Target, c.TargetVersion = splitVersion(textOf(v, "target"))
	if secrets := get(v, "secrets"); secrets.Len() > 0 {
		c.Secrets = make(map[string]string, secrets.Len())
		for _, m := range secrets.Members() {
			c.Secrets[m.Name] = m.Value.Text()
		}
	}
	limits := get(v, "limits")
	c.Limits = Limits{
		InFlight: integer(limits, "in_flight"), PerSecond: numberOr(limits, "per_second", 0), Unresolved: integer(limits, "unresolved"),
	}
	if ack := get(v, "acknowledged"); ack != nil {
		c.Acknowledged = &Acknowledgement{By: textOf(ack, "by"), Date: textOf(ack, "date"), Reason: textOf(ack, "reason")}
	}
	return c
}

func fillAuth(v *identity.Value) onefold.Auth {
	scheme, auth := authScheme(v)
	out := onefold.Auth{
		Scheme: scheme, Secret: textOf(auth, "secret"), User: textOf(auth, "user"), UserSecret: textOf(auth, "user_secret"),
		Name: textOf(auth, "name"), Prefix: textOf(auth, "prefix"), Certificate: textOf(auth, "certificate"), Key: textOf(auth, "key"),
	}
	switch scheme {
	case schemeBearer:
		out.Secret = auth.Text()
	case schemeBasic:
		out.Secret = textOf(auth, "password")
	case schemeHMAC:
		out.Algorithm = textOr(auth, "algorithm", defaultAlgorithm)
		if out.Signed = textsOf(get(auth, "signed")); out.Signed == nil {
			out.Signed = defaultSigned()
		}
	}
	return out
}
