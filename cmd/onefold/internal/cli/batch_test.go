package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/onefold-dev/onefold/client"
)

// lines are so many submissions, one a line.
func lines(n int) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, `{"idempotency_key":"k-%d","capability":"a","request":%d}`+"\n", i, i)
	}
	return b.String()
}

// batches answers calls of submit --batch, one after another, each by its own
// function; sizes are how many submissions the calls had.
func batches(t *testing.T, sizes *[]int, answers ...func(w http.ResponseWriter, keys []string)) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Items []struct {
				Key string `json:"idempotency_key"`
			} `json:"items"`
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil || r.URL.Path != "/v1/operations:batch" {
			t.Errorf("%s: %v", r.URL.Path, err)
		}
		keys := make([]string, len(body.Items))
		for i := range keys {
			keys[i] = body.Items[i].Key
		}
		*sizes = append(*sizes, len(keys))
		if len(*sizes) > len(answers) {
			t.Errorf("call %d was not to be made", len(*sizes))
			return
		}
		answers[len(*sizes)-1](w, keys)
	}))
	t.Cleanup(server.Close)
	return server
}

// admits answers that all were admitted, but for the keys with a problem.
func admits(problems map[string]string) func(w http.ResponseWriter, keys []string) {
	return func(w http.ResponseWriter, keys []string) {
		var items []string
		for _, key := range keys {
			item := `{"status":201,"replayed":false,"location":null,"retry_after":null,"problem":null,"operation":{"id":"op_` + key + `","state":"prepared"}}`
			if p, ok := problems[key]; ok {
				item = `{"status":503,"replayed":false,"location":null,"retry_after":1,"operation":null,"problem":` + p + `}`
			}
			items = append(items, item)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"items":[`+strings.Join(items, ",")+`]}`)
	}
}

const (
	drains  = `{"code":"draining","status":503,"detail":"this server is shutting down","retry":"same_request"}`
	invalid = `{"code":"request_invalid","status":422,"detail":"no","retry":"after_a_change"}`
)

// runs gives a command line to the program.
func runs(t *testing.T, server, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errOut bytes.Buffer
	code = Main(t.Context(), Process{
		Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &errOut, Now: time.Now,
		LookupEnv: func(name string) (string, bool) {
			value, ok := map[string]string{envToken: "ofk_x", envServer: server}[name]
			return value, ok
		},
	}, args)
	return code, out.String(), errOut.String()
}

// A line that could not be decided ends the command with 1, so that whoever runs
// it does so again; a line that was refused alone ends it with 3. Both are told of
// their line, and the lines stay in order.
func TestABatchThatHasToBeSentAgain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		problems map[string]string
		exit     int
		says     string
		summary  string
	}{
		{nil, ExitDone, "line 2, k-2: admitted: op_k-2", "3 admitted, 0 known already, 0 refused, 0 not decided\n"},
		{map[string]string{"k-2": drains}, ExitFailed, "line 2, k-2: not decided, send it again: draining", "2 admitted, 0 known already, 0 refused, 1 not decided\nthe same command again"},
		{map[string]string{"k-2": invalid}, ExitRefused, "line 2, k-2: refused: request_invalid", "2 admitted, 0 known already, 1 refused, 0 not decided\n"},
		{map[string]string{"k-2": invalid, "k-3": drains}, ExitFailed, "line 3, k-3: not decided", "1 admitted, 0 known already, 1 refused, 1 not decided\nthe same command again"},
	} {
		var sizes []int
		server := batches(t, &sizes, admits(c.problems))
		code, stdout, stderr := runs(t, server.URL, lines(3), "submit", "--batch", "-")
		if code != c.exit || !strings.Contains(stdout, c.says) || strings.Count(stdout, "\n") != 3 || !strings.HasPrefix(stderr, c.summary) {
			t.Errorf("%v: exit code %d\n%s%s", c.problems, code, stdout, stderr)
		}
		for i, line := range strings.Split(strings.TrimSpace(stdout), "\n") {
			if !strings.HasPrefix(line, fmt.Sprintf("line %d, k-%d: ", i+1, i+1)) {
				t.Errorf("%v: line %d is %q", c.problems, i+1, line)
			}
		}
	}
}

// Calls carry as many submissions as a server takes. A call without an answer ends
// the command; what was answered before was printed, and nothing behind it is sent.
func TestABatchOfManyCallsThatBreaksOff(t *testing.T) {
	t.Parallel()
	var sizes []int
	server := batches(t, &sizes, admits(nil), func(w http.ResponseWriter, _ []string) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, drains)
	})
	code, stdout, stderr := runs(t, server.URL, lines(2*client.MaxBatch+1), "submit", "--batch", "-", "--output", "json")
	if code != ExitFailed || strings.Count(stdout, "\n") != client.MaxBatch || !strings.Contains(stderr, `"code":"draining"`) {
		t.Errorf("exit code %d, %d lines, %s", code, strings.Count(stdout, "\n"), stderr)
	}
	if fmt.Sprint(sizes) != fmt.Sprint([]int{client.MaxBatch, client.MaxBatch}) {
		t.Errorf("calls with %v submissions", sizes)
	}
	var last batchLine
	if err := json.Unmarshal([]byte(stdout[strings.LastIndex(strings.TrimSpace(stdout), "\n")+1:]), &last); err != nil || last.Line != client.MaxBatch || *last.Key != "k-1000" {
		t.Errorf("the last line: %+v, %v", last, err)
	}
}

// A result that cannot be printed ends the command: nothing is admitted behind
// anybody's back that nobody is told of.
func TestABatchWhoseOutputBreaks(t *testing.T) {
	t.Parallel()
	var sizes []int
	server := batches(t, &sizes, admits(nil))
	var errOut bytes.Buffer
	code := Main(t.Context(), Process{
		Stdin: strings.NewReader(lines(2 * client.MaxBatch)), Stdout: broken{}, Stderr: &errOut, Now: time.Now,
		LookupEnv: func(name string) (string, bool) {
			value, ok := map[string]string{envToken: "ofk_x", envServer: server.URL}[name]
			return value, ok
		},
	}, []string{"submit", "--batch", "-"})
	if code != ExitFailed || len(sizes) != 1 || errOut.Len() == 0 {
		t.Errorf("exit code %d, calls %v, %s", code, sizes, errOut.String())
	}
}
