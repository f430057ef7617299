package crash

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// smallDisk is a file system of a few MiB that only the processes of one test
// see: it is mounted in a mount namespace of its own, which ends with them. Who
// is not root is root in a user namespace of its own.
type smallDisk struct {
	t      *testing.T
	holder *process
	dir    string
}

// diskSize has room for the ledger of the test and its log, which grows to 32 MiB
// before it is copied back.
const diskSize = "64m"

func newSmallDisk(t *testing.T, h *house) *smallDisk {
	t.Helper()
	d := &smallDisk{t: t, dir: h.file("disk")}
	if err := os.Mkdir(d.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	script := `mount --make-rprivate / && mount -t tmpfs -o size=` + diskSize + ` none "$1" && cp "$2" "$1/onefold.db" && echo '{"disk":"ready"}' && exec tail -f /dev/null`
	cmd := exec.Command("sh", "-c", script, "sh", d.dir, h.file("onefold.db")) //nolint:gosec // our own words
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if os.Getuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	d.holder = start(t, "disk", cmd)
	if d.holder.url == "" {
		t.Fatalf("no file system of our own\n%s", d.holder.log)
	}
	h.wrap = func(serve *exec.Cmd) *exec.Cmd {
		args := []string{"--mount=" + fmt.Sprintf("/proc/%d/ns/mnt", d.holder.cmd.Process.Pid)}
		if os.Getuid() != 0 {
			args = append(args, fmt.Sprintf("--user=/proc/%d/ns/user", d.holder.cmd.Process.Pid), "--preserve-credentials")
		}
		inside := exec.Command("nsenter", append(append(args, "--"), serve.Args...)...) //nolint:gosec // our own binary
		for i, arg := range inside.Args {
			inside.Args[i] = strings.ReplaceAll(arg, "sqlite:"+h.file("onefold.db"), "sqlite:"+filepath.Join(d.dir, "onefold.db"))
		}
		inside.Env = serve.Env
		return inside
	}
	return d
}

// file is a file on the disk as it is seen from outside.
func (d *smallDisk) file(name string) string {
	return filepath.Join(fmt.Sprintf("/proc/%d/root", d.holder.cmd.Process.Pid), d.dir, name)
}

// fill leaves no byte.
func (d *smallDisk) fill() {
	d.t.Helper()
	f, err := os.Create(d.file("ballast"))
	if err != nil {
		d.t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	for block := make([]byte, 4096); ; {
		if _, err := f.Write(block); err != nil {
			if !errors.Is(err, syscall.ENOSPC) {
				d.t.Fatal(err)
			}
			return
		}
	}
}

func (d *smallDisk) free() {
	d.t.Helper()
	if err := os.Remove(d.file("ballast")); err != nil {
		d.t.Fatal(err)
	}
}

// The disk is full while calls are out and callers come. Callers are told that
// nothing is known or nothing was admitted, nothing is sent that is not on
// record, and when there is room again everything ends as if nothing had been,
// also where the process was killed in between.
//
// Proves: I3, M4, M6, M10, M12a, M22
func TestTheDiskIsFull(t *testing.T) {
	t.Parallel()
	for _, killed := range []bool{false, true} {
		t.Run(fmt.Sprintf("killed %v", killed), func(t *testing.T) {
			t.Parallel()
			diskFull(t, killed)
		})
	}
}

func diskFull(t *testing.T, killed bool) {
	const n = 40
	h := newHouse(t, nil, "full", nil)
	h.flags = []string{"--lease", "2s", "--scan", "100ms"}
	d := newSmallDisk(t, h)
	h.open("")
	if h.serve.url == "" {
		t.Fatalf("onefold does not start\n%s", h.serve.log)
	}
	// A call is out when the room ends: its answer comes while nothing can be written.
	h.fault("orders", `"kind":"delay","before":"600ms"`)
	out := submitted(order, "")(h)
	if out.status != http.StatusCreated {
		t.Fatalf("the first submission got %d %v", out.status, out.body)
	}
	until(t, "the request", func() bool { return len(h.judge.requests(h.account)) == 1 })
	d.fill()

	var refused, unknown atomic.Int64
	room := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		crowd(h, n, func(a answer) (enough bool) {
			switch {
			case a.status == http.StatusServiceUnavailable && a.text("code") == "store_unavailable":
				if strings.Contains(fmt.Sprint(a.body), "not known") {
					unknown.Add(1)
				} else {
					refused.Add(1)
				}
			case a.status == http.StatusCreated || a.status == http.StatusOK:
			default:
				t.Errorf("a caller got %d %v", a.status, a.body)
			}
			select {
			case <-room:
				return true
			case <-time.After(50 * time.Millisecond):
				return false
			}
		})
	}()
	until(t, "callers who were refused", func() bool { return refused.Load()+unknown.Load() >= n })
	// Nothing is sent while nothing can be written.
	before := len(h.judge.requests(h.account))
	if within(time.Second, func() bool { return len(h.judge.requests(h.account)) != before }) {
		t.Error("requests reached the target while the disk was full")
	}
	close(room)
	<-done
	if killed {
		h.serve.kill()
		d.free()
		h.open("")
	} else {
		d.free()
	}
	crowd(h, n, nil)
	allEnd(h)
	h.serve.drained(t)
	d.bringOut(h)
	tally := h.compare()
	t.Logf("%d refusals, %d of which nobody knew: %s", refused.Load(), unknown.Load(), tally)
	if tally.operations != n+1 {
		t.Errorf("of %d callers: %s", n+1, tally)
	}
}

// bringOut copies the ledger to where it is compared.
func (d *smallDisk) bringOut(h *house) {
	d.t.Helper()
	for _, suffix := range []string{"", "-wal"} {
		in, err := os.Open(d.file("onefold.db" + suffix))
		if suffix != "" && os.IsNotExist(err) {
			continue
		}
		if err != nil {
			d.t.Fatal(err)
		}
		content, err := io.ReadAll(in)
		_ = in.Close()
		if err != nil {
			d.t.Fatal(err)
		}
		h.write("onefold.db"+suffix, content)
	}
}
