package sandbox

import (
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// turnAway refuses what a page of somebody else's has a browser on this machine ask
// of the admin API, which has no authentication: under a name that was made to point
// here (DNS rebinding), from another origin, or as a form or plain text, which browsers
// send without asking first.
func (s *Sandbox) turnAway(r *http.Request) (said answer, turned bool) {
	if !s.options.AllowRemote && !isOurs(r) {
		return refusal(http.StatusForbidden, "foreign_host", "the admin API is asked under localhost or the address that it listens on"), true
	}
	if !sameOrigin(r) {
		return refusal(http.StatusForbidden, "foreign_origin", "the admin API answers no page of another origin"), true
	}
	if r.Method == http.MethodGet {
		return answer{}, false
	}
	// Fetch metadata: "none" is a person at the address line.
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
		return refusal(http.StatusForbidden, "foreign_origin", "the admin API answers no page of another origin"), true
	}
	kinds := r.Header.Values("Content-Type")
	if len(kinds) == 0 && r.ContentLength == 0 {
		return answer{}, false
	}
	if media, _, err := mime.ParseMediaType(strings.Join(kinds, ",")); err != nil || media != jsonType {
		return refusal(http.StatusUnsupportedMediaType, "media_type", "a body is JSON, and says so: Content-Type: "+jsonType), true
	}
	return answer{}, false
}

// isOurs tells whether a request names a host that is this machine whatever a name
// server says: localhost, a loopback address, or the address that it came in at.
func isOurs(r *http.Request) bool {
	host := (&url.URL{Host: r.Host}).Hostname()
	name := strings.TrimSuffix(strings.ToLower(host), ".")
	if name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return true
	}
	at, err := netip.ParseAddr(host)
	if err != nil {
		return false
	}
	at = at.Unmap().WithZone("")
	local, _ := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return at.IsLoopback() || local != nil && at == local.AddrPort().Addr().Unmap().WithZone("")
}

// sameOrigin tells whether the page that asks, if one does, came from here.
func sameOrigin(r *http.Request) bool {
	return !slices.ContainsFunc(r.Header.Values("Origin"), func(origin string) bool {
		from, err := url.Parse(origin)
		return err != nil || from.Scheme != "http" && from.Scheme != "https" || !strings.EqualFold(from.Host, r.Host)
	})
}
