//go:build failpoint

package failpoint

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Before marks the place before a write by its name.
func Before(name string) { reach("before-" + name) }

// After marks the place after a write by its name.
func After(name string) { reach("after-" + name) }

// Note writes down that a place was passed, and by whom.
func Note(place, who string) {
	prepare()
	points.trace.add(place + " " + who)
}

// WallClock is now, made as wrong as the file says that Wall names.
func WallClock(now func() time.Time) func() time.Time {
	path := os.Getenv(Wall)
	if path == "" {
		return now
	}
	return func() time.Time {
		text, err := os.ReadFile(path) //nolint:gosec // the test's own file
		if err != nil {
			return now()
		}
		wrong, err := time.ParseDuration(strings.TrimSpace(string(text)))
		if err != nil {
			return now() // the file is being written
		}
		return now().Add(wrong)
	}
}

// The actions at a place beside killing, which is "" or "kill".
const (
	actionStop  = "stop"
	actionPanic = "panic"
	actionHold  = "hold"
)

// lookEvery is how often a held place looks whether it may go on.
const lookEvery = 2 * time.Millisecond

type armed struct {
	place, action string
	left          int64
}

// points are the armed places, and the files that prove what was reached. They are
// read and opened once, at the first place of all, when there is a file descriptor
// to be had.
var points = struct {
	sync.Mutex
	once        sync.Once
	list        []*armed
	mark, trace lines
}{}

func prepare() {
	points.once.Do(func() {
		points.list = parse(os.Getenv(Variable))
		points.mark, points.trace = open(Mark), open(Trace)
	})
}

// lines is a file to which lines are appended; what was appended outlives the
// process.
type lines struct{ file *os.File }

// open opens the file that a variable names, if it names one.
func open(variable string) lines {
	path := os.Getenv(variable)
	if path == "" {
		return lines{}
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600) //nolint:gosec // the test's own file
	if err != nil {
		fmt.Fprintln(os.Stderr, "failpoint: no proof can be written:", err)
	}
	return lines{f}
}

func (l lines) add(line string) {
	if l.file == nil {
		return
	}
	if _, err := l.file.WriteString(line + "\n"); err != nil {
		fmt.Fprintln(os.Stderr, "failpoint: no proof can be written:", err)
	}
}

func parse(text string) (list []*armed) {
	for item := range strings.SplitSeq(text, ",") {
		place, action, _ := strings.Cut(strings.TrimSpace(item), "=")
		place, count, _ := strings.Cut(place, "@")
		n, err := strconv.ParseInt(count, 10, 64)
		if err != nil {
			n = 1
		}
		if action == "kill" {
			action = ""
		}
		if place != "" {
			list = append(list, &armed{place: place, action: action, left: n})
		}
	}
	return list
}

func reach(place string) {
	prepare()
	points.Lock()
	action, fires := "", false
	for _, p := range points.list {
		if p.place != place {
			continue
		}
		if p.left--; p.left == 0 {
			action, fires = p.action, true
			points.mark.add(place)
		}
	}
	if fires && action == "" {
		// Killed while the lock is held, so that no other place fires meanwhile.
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // the signal ends the process
	}
	points.Unlock()
	switch action {
	case actionStop:
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	case actionPanic:
		panic("failpoint " + place)
	case actionHold:
		hold()
	}
}

// hold waits until the file is there that Go names.
func hold() {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for range ticker.C {
		if _, err := os.Stat(os.Getenv(Go)); err == nil {
			return
		}
	}
}
