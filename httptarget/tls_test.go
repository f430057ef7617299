package httptarget_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/httptarget"
)

// carrierChange changes a Carrier's options.
type carrierChange = func(*httptarget.Options)

// authority signs certificates for tests.
type authority struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
	pool *x509.CertPool
}

func newAuthority(t testing.TB) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(cert)
	return &authority{key: key, cert: cert, pool: pool}
}

// issue signs a certificate for 127.0.0.1 and localhost, changed as asked, and
// returns it with its key as PEM.
func (a *authority) issue(t testing.TB, change func(*x509.Certificate)) (certPEM, keyPEM []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "test"}, DNSNames: []string{"localhost"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if change != nil {
		change(template)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw})
}

// server is a TLS configuration with a certificate of the authority's.
func (a *authority) server(t testing.TB, change func(*x509.Certificate)) *tls.Config {
	t.Helper()
	certPEM, keyPEM := a.issue(t, change)
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: []string{"http/1.1"}, MinVersion: tls.VersionTLS10}
}

// A handshake that fails is no connection: nothing was sent.
func TestAFailedHandshakeSendsNothing(t *testing.T) {
	t.Parallel()
	ca, other := newAuthority(t), newAuthority(t)
	old := func(c *tls.Config) *tls.Config { c.MaxVersion = tls.VersionTLS11; return c }
	strict := func(c *tls.Config) *tls.Config {
		c.ClientAuth, c.MaxVersion = tls.RequireAnyClientCert, tls.VersionTLS12
		return c
	}
	for _, c := range []struct {
		name, says string
		config     *tls.Config
	}{
		{"unknown authority", "signed by nobody", other.server(t, nil)},
		{"expired", "not valid at this time", ca.server(t, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) })},
		{"not yet valid", "not valid at this time", ca.server(t, func(c *x509.Certificate) {
			c.NotBefore, c.NotAfter = time.Now().Add(24*time.Hour), time.Now().Add(48*time.Hour)
		})},
		{"another name", "for another name", ca.server(t, func(c *x509.Certificate) { c.IPAddresses = nil })},
		{"not a server's", "not valid", ca.server(t, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} })},
		{"TLS 1.1", "alert", old(ca.server(t, nil))},
		{"TLS 1.2 wants a client certificate", "alert", strict(ca.server(t, nil))},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, c.config, whenRead(func(p *peer) { p.say(created) }))
			x := carrier(t, trusting(ca.pool)).Carry(t.Context(), write(s.url(), true, body(10)))
			if !x.NotSent || x.Failure != "tls" || !strings.Contains(x.Detail, c.says) || x.Evidence.BytesOut != 0 {
				t.Errorf("NotSent %v, failure %q, %d bytes out: %s", x.NotSent, x.Failure, x.Evidence.BytesOut, x.Detail)
			}
			s.stop()
			if requests, _ := s.seen(); requests != 0 {
				t.Errorf("%d requests", requests)
			}
		})
	}
	t.Run("no TLS at all", func(t *testing.T) {
		t.Parallel()
		s := serve(t, nil, func(p *peer) { p.say("220 mail.example ESMTP\r\n") })
		d := write(strings.Replace(s.url(), "http:", "https:", 1), true, nil)
		x := carrier(t, trusting(ca.pool)).Carry(t.Context(), d)
		if !x.NotSent || x.Failure != "tls" || !strings.Contains(x.Detail, "not TLS") {
			t.Errorf("NotSent %v, failure %q: %s", x.NotSent, x.Failure, x.Detail)
		}
	})
}

// Over TLS 1.3 the client's handshake ends before the server has judged its
// certificate: the refusal comes when the request is on its way, and that is
// not "nothing was sent".
func TestALateCertificateRefusalIsDoubt(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	config := ca.server(t, nil)
	config.ClientAuth, config.MinVersion = tls.RequireAnyClientCert, tls.VersionTLS13
	s := serve(t, config, whenRead(func(p *peer) { p.say(created) }))
	x := carrier(t, trusting(ca.pool)).Carry(t.Context(), write(s.url(), true, body(10)))
	if x.NotSent != (x.Evidence.BytesOut == 0) || x.Failure == "" || x.Status != 0 {
		t.Errorf("NotSent %v with %d bytes out, status %d, failure %q: %s", x.NotSent, x.Evidence.BytesOut, x.Status, x.Failure, x.Detail)
	}
	if !x.NotSent && x.Failure != "no_answer" && x.Failure != "write" {
		t.Errorf("failure %q: %s", x.Failure, x.Detail)
	}
}

// A connection may authenticate by a certificate; only HTTP/1.1 is spoken even
// where the target would rather have HTTP/2.
func TestMutualTLS(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	certPEM, keyPEM := ca.issue(t, nil)
	config := ca.server(t, nil)
	config.ClientAuth, config.ClientCAs = tls.RequireAndVerifyClientCert, ca.pool
	s := serve(t, config, func(p *peer) {
		state := p.Conn.(*tls.Conn).ConnectionState()
		if _, _, err := p.request(); err != nil || state.NegotiatedProtocol != "http/1.1" || len(state.PeerCertificates) != 1 {
			p.say(answer(http.StatusTeapot, "{}"))
			return
		}
		p.say(created)
	})
	c := carrier(t, func(o *httptarget.Options) {
		o.RootCAs = ca.pool
		o.Secrets = vault{"acme env:CERT": string(certPEM), "acme env:KEY": string(bytes.TrimSuffix(keyPEM, []byte("\n"))), "acme env:BAD": "none"}
	})
	d := write(s.url(), true, body(10))
	d.Route.Auth = onefold.Auth{Scheme: "mtls", Certificate: "cert", Key: "key"}
	d.Route.Secrets = map[string]string{"cert": "env:CERT", "key": "env:KEY"}
	if x := c.Carry(t.Context(), d); x.Status != http.StatusCreated {
		t.Errorf("status %d, failure %q: %s", x.Status, x.Failure, x.Detail)
	}
	d.Route.Secrets = map[string]string{"cert": "env:CERT", "key": "env:BAD"}
	if x := c.Carry(t.Context(), d); !x.NotSent || x.Failure != "secret" {
		t.Errorf("NotSent %v, failure %q: %s", x.NotSent, x.Failure, x.Detail)
	}
}
