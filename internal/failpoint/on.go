//go:build failpoint

package failpoint

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// Before marks the place before a write by its name.
func Before(name string) { reach("before-" + name) }

// After marks the place after a write by its name.
func After(name string) { reach("after-" + name) }

type armed struct {
	place, action string
	left          int64
}

// points are the armed places, read from the environment once.
var points = struct {
	sync.Mutex
	once sync.Once
	list []*armed
}{}

func parse(text string) (list []*armed) {
	for item := range strings.SplitSeq(text, ",") {
		place, action, _ := strings.Cut(strings.TrimSpace(item), "=")
		place, count, _ := strings.Cut(place, "@")
		n, err := strconv.ParseInt(count, 10, 64)
		if err != nil {
			n = 1
		}
		if place != "" {
			list = append(list, &armed{place: place, action: action, left: n})
		}
	}
	return list
}

func reach(place string) {
	points.once.Do(func() { points.list = parse(os.Getenv(Variable)) })
	points.Lock()
	action, fires := "", false
	for _, p := range points.list {
		if p.place != place {
			continue
		}
		if p.left--; p.left == 0 {
			action, fires = p.action, true
			mark(place)
		}
	}
	if fires && action == "" {
		// Killed while the lock is held, so that no other place fires meanwhile.
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // the signal ends the process
	}
	points.Unlock()
	switch action {
	case "stop":
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	case "panic":
		panic("failpoint " + place)
	}
}

// mark proves that a place fired.
func mark(place string) {
	path := os.Getenv(Mark)
	if path == "" {
		return
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.WriteString(place + "\n")
		_ = f.Close()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "failpoint: the mark cannot be written:", err)
	}
}
