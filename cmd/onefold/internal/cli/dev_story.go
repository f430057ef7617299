package cli

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/onefold-dev/onefold/client"
	"github.com/onefold-dev/onefold/cmd/onefold/internal/story"
)

// tellStory plays the story and tells it line by line.
func (d *dev) tellStory(ctx context.Context) {
	end, err := d.playStory(ctx)
	if err == nil && ctx.Err() == nil {
		err = d.folder.EndStory()
	}
	switch {
	case ctx.Err() != nil:
		return // somebody ended it
	case err != nil:
		d.log.Error("the story cannot be told", "error", err.Error())
		return
	case d.app.json:
		_ = d.app.line(end)
		return
	}
	fmt.Fprintf(d.app.Stdout, "\n%s\n", d.app.color(bold, end.Text))
	if len(end.Waiting) > 0 {
		fmt.Fprintf(d.app.Stdout, "\nFor a person remains:\n\n  %s\n", d.cliLine("ops explain "+end.Waiting[0]))
	}
}

func (d *dev) playStory(ctx context.Context) (story.End, error) {
	api, err := client.New(client.Options{Server: d.apiURL(), Token: d.token, UserAgent: "onefold-story/" + thisVersion().Version})
	if err != nil {
		return story.End{}, err
	}
	defer api.Close()
	erp := story.Sandbox{URL: d.sandboxURL(), HTTP: &http.Client{Transport: &http.Transport{}}}
	defer erp.HTTP.CloseIdleConnections()
	return story.Run(ctx, story.Options{API: api, Sandbox: erp, Tell: d.tell, Now: d.app.Now, Telling: d.telling})
}

// tell prints one line of the story.
func (d *dev) tell(t story.Told) {
	if d.app.json {
		_ = d.app.line(t)
		return
	}
	paint := green
	switch {
	case t.Failed, t.NeedsPerson:
		paint = yellow
	case t.Result == "":
		paint = dim
	}
	fmt.Fprintf(d.app.Stdout, "  %2d  %s: %s → %s\n", t.Number, d.app.color(bold, t.Title), t.Tells, d.app.color(paint, plain(t.Outcome)))
}

// self is how this binary is called from a shell in the same folder.
func (a *app) self() string {
	if found, err := exec.LookPath("onefold"); err == nil && sameFile(found, a.Executable) {
		return "onefold"
	}
	if strings.Contains(a.Executable, "go-build") {
		if _, err := os.Stat(filepath.Join("cmd", "onefold", "main.go")); err == nil {
			return "go run ./cmd/onefold"
		}
	}
	if a.Executable == "" {
		return "onefold"
	}
	return quoteShell(a.Executable)
}

func sameFile(a, b string) bool {
	first, err := os.Stat(a)
	if err != nil {
		return false
	}
	second, err := os.Stat(b)
	return err == nil && os.SameFile(first, second)
}

// quoteShell quotes a path that a shell would take apart.
func quoteShell(path string) string {
	if strings.IndexFunc(path, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("/._-+@%", r)
	}) < 0 {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
