package api

import (
	"context"
	"html/template"
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"github.com/onefold-dev/onefold"
)

// livez answers while the process serves; it never touches the database.
func (*Server) livez(*call) (*reply, error) {
	return answerJSON(healthView{"live"}), nil
}

// healthView is what a probe reads.
type healthView struct {
	Status string `json:"status" enum:"live,ready"`
}

// readyz answers whether calls can be served: not draining, the store reachable
// and migrated, and whatever else Config.Ready asks for.
func (s *Server) readyz(c *call) (*reply, error) {
	if s.ledger.Draining() || s.draining.Err() != nil {
		return nil, &onefold.Error{Code: onefold.CodeDraining, Message: "this server is shutting down"}
	}
	ctx, cancel := context.WithTimeout(c.ctx, readyTimeout)
	defer cancel()
	if err := s.ledger.Store().Ping(ctx); err != nil {
		return nil, &onefold.Error{Code: onefold.CodeStoreUnavailable, Message: "the store cannot be reached, or its migrations are not current", Cause: err}
	}
	if s.cfg.Ready != nil {
		if err := s.cfg.Ready(ctx); err != nil {
			// Whoever asks is nobody in particular: what is missing may be of any
			// workspace, so that neither it nor how much it is may show (invariant 17).
			return nil, &onefold.Error{Code: onefold.CodeNotReady, Message: "something that this server needs is missing; its log says what", Cause: err}
		}
	}
	return answerJSON(healthView{"ready"}), nil
}

func (s *Server) getOpenAPI(*call) (*reply, error) {
	rep := &reply{status: http.StatusOK, header: http.Header{}, raw: s.openapi}
	rep.header.Set("Content-Type", "application/json")
	rep.header.Set("Cache-Control", "no-cache")
	return rep, nil
}

// problemEntry is the page of a code as data.
type problemEntry struct {
	Type    string              `json:"type"`
	Code    onefold.Code        `json:"code"`
	Title   string              `json:"title"`
	Status  int                 `json:"status"`
	Retry   onefold.RetryAdvice `json:"retry"`
	Meaning string              `json:"meaning"`
	Advice  string              `json:"advice"`
}

func pageOfProblem(p onefold.Problem) problemEntry {
	return problemEntry{"/problems/" + string(p.Code), p.Code, p.Title, p.Status, p.Retry, p.Meaning, p.Advice}
}

// RetryWords says in a sentence what a problem's advice about retries means.
func (p problemEntry) RetryWords() string {
	switch p.Retry {
	case onefold.RetrySame:
		return "Yes: the very same request, with the same key, may be sent again, and may succeed later."
	case onefold.RetryChanged:
		return "It is safe, but it fails again until something is changed."
	case onefold.RetryNever:
	}
	return "It is safe, and it never helps."
}

func (s *Server) getProblem(c *call) (*reply, error) {
	all := onefold.Problems()
	i := slices.IndexFunc(all, func(p onefold.Problem) bool { return string(p.Code) == c.path["code"] })
	if i < 0 {
		return nil, &onefold.Error{Code: onefold.CodeNotFound, Message: "there is no problem of this code"}
	}
	page := pageOfProblem(all[i])
	if wantsJSON(c.r.Header.Get("Accept")) {
		return answerJSON(page), nil
	}
	return s.html(c, problemTemplate(), page)
}

func (s *Server) listProblems(c *call) (*reply, error) {
	var pages []problemEntry
	for _, p := range onefold.Problems() {
		pages = append(pages, pageOfProblem(p))
	}
	if wantsJSON(c.r.Header.Get("Accept")) {
		return answerJSON(pageView[problemEntry]{Items: pages}), nil
	}
	return s.html(c, problemsTemplate(), pages)
}

// wantsJSON tells whether JSON stands in Accept before HTML does; who says
// nothing gets the page.
func wantsJSON(accept string) bool {
	for _, part := range strings.Split(accept, ",") {
		media, _, _ := strings.Cut(strings.TrimSpace(part), ";")
		switch media = strings.ToLower(strings.TrimSpace(media)); {
		case media == "text/html" || media == "application/xhtml+xml":
			return false
		case media == "application/json" || strings.HasSuffix(media, "+json"):
			return true
		}
	}
	return false
}

// html renders a page that loads nothing.
func (s *Server) html(c *call, t *template.Template, data any) (*reply, error) {
	var out strings.Builder
	if err := t.Execute(&out, data); err != nil {
		s.cfg.Logger.LogAttrs(c.ctx, slog.LevelError, "a page could not be rendered", slog.Any("error", err))
		return nil, err
	}
	rep := &reply{status: http.StatusOK, header: http.Header{}, raw: []byte(out.String())}
	rep.header.Set("Content-Type", "text/html; charset=utf-8")
	rep.header.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
	return rep, nil
}

const pageHead = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>body{font:16px/1.5 system-ui,sans-serif;max-width:42rem;margin:3rem auto;padding:0 1rem}code{font-size:.95em}dt{font-weight:600;margin-top:1rem}dd{margin:0}</style>
`

func problemTemplate() *template.Template {
	return template.Must(template.New("problem").Parse(pageHead + `<title>{{.Code}} · onefold</title>
<h1>{{.Title}}</h1>
<p><code>{{.Code}}</code>, HTTP status {{.Status}}</p>
<dl>
<dt>What it means</dt><dd>{{.Meaning}}</dd>
<dt>May the request be sent again?</dt><dd>{{.RetryWords}}</dd>
<dt>What to do</dt><dd>{{.Advice}}</dd>
</dl>
<p><a href="/problems">All problems</a></p>
</html>
`))
}

func problemsTemplate() *template.Template {
	return template.Must(template.New("problems").Parse(pageHead + `<title>Problems · onefold</title>
<h1>Problems</h1>
<dl>
{{range .}}<dt><a href="{{.Type}}"><code>{{.Code}}</code></a></dt><dd>{{.Status}}: {{.Title}}</dd>
{{end}}</dl>
</html>
`))
}
