package deployment

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/api"
	"github.com/onefold-dev/onefold/contract"
	"github.com/onefold-dev/onefold/internal/bootclock"
)

// canary is a secret that no answer and no log may hold.
const canary = "canary-5d20"

// journal is a log that several goroutines write.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

// String is what was written, and forgets it.
func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	defer j.text.Reset()
	return j.text.String()
}

// lodge is a node with connections of two workspaces that serves on loopback.
type lodge struct {
	t       *testing.T
	node    *Node
	log     *journal
	folder  string // of secrets
	url     string
	mu      sync.Mutex
	setting map[string]string
}

func (l *lodge) lookup(name string) (string, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	value, is := l.setting[name]
	return value, is
}

func (l *lodge) set(name, value string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.setting[name] = value
}

// connections are one of acme's with a file and one of globex's with a variable
// and a file; mode is that of globex's.
func connections(mode string) string {
	const rest = "\ntarget: sandbox-erp@1\nurl: http://127.0.0.1:8090\nowner: maria@acme.example\n"
	return "kind: connection\nworkspace: acme\nname: acme-erp\nauth: {bearer: token}\nsecrets: {token: file:acme/erp-token}" + rest +
		"---\nkind: connection\nworkspace: globex\nname: globex-erp\nauth: {basic: {user_secret: user, password: word}}\n" +
		"secrets: {user: env:ONEFOLD_S_GLOBEX__USER, word: file:globex/word}\nmode: " + mode + rest
}

func newLodge(t *testing.T, worker string) *lodge {
	t.Helper()
	l := &lodge{t: t, log: &journal{}, folder: t.TempDir(), setting: map[string]string{}}
	access := Access{Database: Database{Path: filepath.Join(t.TempDir(), "onefold.db")}, Now: time.Now, IDs: IDs{}}
	if _, _, err := access.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	own, err := NewSecret([]byte("a secret that nobody has to know"))
	if err != nil {
		t.Fatal(err)
	}
	l.node, err = OpenNode(t.Context(), NodeOptions{
		Access: access, Secret: own, Worker: worker, SecretsFolder: l.folder, LookupEnv: l.lookup,
		Boot: bootclock.Now, Version: "test", Log: slog.New(slog.NewTextHandler(l.log, nil)),
		Prepare: func(ctx context.Context, store onefold.Store) error {
			for _, name := range []string{"acme", "globex"} {
				if _, err := store.CreateWorkspace(ctx, name); err != nil {
					return err
				}
			}
			docs, err := ReadExamples("http://127.0.0.1:8090")
			if err != nil {
				return err
			}
			var own []contract.Document
			for i := range docs {
				if docs[i].Kind != contract.KindConnection {
					own = append(own, docs[i])
				}
			}
			more, faults := contract.DecodeFile("connections.yaml", []byte(connections("autonomous")))
			if err := faults.Err(); err != nil {
				return err
			}
			_, _, err = Publish(ctx, store, Publication{Documents: append(own, more...), By: "test", Today: time.Now()})
			return err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	l.serve()
	return l
}

// serve runs the node until the end of the test.
func (l *lodge) serve() {
	l.t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		l.t.Fatal(err)
	}
	l.url = "http://" + listener.Addr().String()
	ctx, end := context.WithCancel(context.Background())
	done, ready := make(chan error, 1), make(chan struct{})
	go func() { done <- l.node.Run(ctx, listener, func() { close(ready) }) }()
	select {
	case <-ready:
	case err := <-done:
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() {
		end()
		if err := errors.Join(<-done, l.node.Close()); err != nil {
			l.t.Error(err)
		}
	})
}

// put puts a secret into its file.
func (l *lodge) put(name string) {
	l.t.Helper()
	path := filepath.Join(l.folder, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(canary), 0o600)); err != nil {
		l.t.Fatal(err)
	}
}

// probe asks whether the node is ready, after a look, and returns the answer but
// for the call's own id.
func (l *lodge) probe() (status int, body string) {
	l.t.Helper()
	l.node.lookForSecrets(l.t.Context())
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Get(l.url + "/readyz") //nolint:noctx // it is on this machine, and the test has an end
	if err != nil {
		l.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		l.t.Fatal(err)
	}
	return answer.StatusCode, regexp.MustCompile(`"request_id":"[^"]*"`).ReplaceAllString(string(text), "")
}

// Whoever probes is nobody in particular: the answer is the same whichever
// workspace's secrets are missing and however many. The log says which, with what
// to do, and holds none of them; a connection that is disabled needs none.
//
// Proves: M4
func TestReadyMeansThatNoSecretIsMissing(t *testing.T) {
	t.Parallel()
	l := newLodge(t, "worker-1")
	if said := l.log.String(); strings.Count(said, "a secret is missing") != 3 ||
		!strings.Contains(said, `workspace=acme connection=acme-erp secret=token why="file:acme/erp-token is not there"`) ||
		!strings.Contains(said, `workspace=globex connection=globex-erp secret=user why="env:ONEFOLD_S_GLOBEX__USER is not set"`) ||
		!strings.Contains(said, "put the file into its place") || !strings.Contains(said, "set the variable in the environment") {
		t.Errorf("at the start the log says: %s", said)
	}
	all, several := l.probe()
	if said := l.log.String(); all != http.StatusServiceUnavailable || strings.Contains(said, "a secret is missing") ||
		!strings.Contains(said, "acme/acme-erp token (file:acme/erp-token is not there)") || !strings.Contains(several, `"code":"not_ready"`) {
		t.Errorf("%d %s; what was told at the start is told again: %s", all, several, said)
	}
	l.put("globex/word")
	l.set("ONEFOLD_S_GLOBEX__USER", canary)
	_, acmes := l.probe()
	if said := l.log.String(); strings.Count(said, "a secret is missing no more") != 2 {
		t.Errorf("of what was mended the log says: %s", said)
	}
	l.put("acme/erp-token")
	l.set("ONEFOLD_S_GLOBEX__USER", "")
	_, globexs := l.probe()
	if several != acmes || acmes != globexs || strings.Contains(several, "acme") || strings.Contains(several, "erp") {
		t.Errorf("the answers tell the workspaces apart:\n%s\n%s\n%s", several, acmes, globexs)
	}
	l.set("ONEFOLD_S_GLOBEX__USER", canary)
	if status, body := l.probe(); status != http.StatusOK {
		t.Errorf("nothing is missing, and it says %d: %s", status, body)
	}

	l.set("ONEFOLD_S_GLOBEX__USER", "")
	if status, _ := l.probe(); status != http.StatusServiceUnavailable {
		t.Errorf("a variable without a value counts: %d", status)
	}
	publication, err := (&publisher{node: l.node}).Publish(t.Context(), "", "test", []api.SourceFile{{Name: "c.yaml", Text: []byte(connections("disabled"))}}, false)
	if err != nil {
		t.Fatal(err)
	}
	if status, body := l.probe(); status != http.StatusOK {
		t.Errorf("a disabled connection's secret is missed: %d %s, %v", status, body, publication.Warnings)
	}
	if said := l.log.String(); strings.Contains(said+several, canary) {
		t.Errorf("a secret is told: %s", said)
	}
}

// Who publishes a connection is told at once what its server lacks, of its own
// documents alone.
func TestWhoPublishesIsToldWhatIsMissing(t *testing.T) {
	t.Parallel()
	l := newLodge(t, "worker-1")
	own, _, _ := strings.Cut(connections("autonomous"), "---\n")
	for _, dry := range []bool{true, false} {
		done, err := (&publisher{node: l.node}).Publish(t.Context(), "acme", "maria", []api.SourceFile{{Name: "c.yaml", Text: []byte(own)}}, dry)
		if err != nil {
			t.Fatal(err)
		}
		if said := strings.Join(done.Warnings, "\n"); !strings.Contains(said, "file:acme/erp-token is not there") || strings.Contains(said, "globex") {
			t.Errorf("dry %v: the warnings are %s", dry, said)
		}
	}
}

// A server that carries nothing out resolves no secret: they are its worker's, and
// may lie on another machine.
func TestAServerWithoutARunnerNeedsNoSecrets(t *testing.T) {
	t.Parallel()
	l := newLodge(t, "")
	if status, body := l.probe(); status != http.StatusOK {
		t.Errorf("%d %s", status, body)
	}
	if said := l.log.String(); strings.Contains(said, "missing") {
		t.Errorf("the log says: %s", said)
	}
}
