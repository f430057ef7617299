package main

import (
	"bytes"
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The payroll comes to its end whatever the bank does, and each salary is paid one
// time.
//
// Proves: M11, M12, M13
func TestThePayrollIsPaidOneTime(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	folder := t.TempDir()
	var out bytes.Buffer
	if err := run(ctx, &out, folder, 20*time.Millisecond); err != nil {
		t.Fatal(err, out.String())
	}
	for _, line := range []string{
		`E-1 is paid as PAY-1, learnt from the lookup`,
		`E-2 is paid as PAY-\d, learnt from the response`,
		`E-3 is refused: no_such_account`,
		`E-4 is paid as PAY-\d, learnt from the response`,
		`the bank has 3 transfers in its books`,
	} {
		if !regexp.MustCompile(`(?m)^` + line + `$`).Match(out.Bytes()) {
			t.Errorf("the run does not say %q:\n%s", line, &out)
		}
	}
	// The next payroll run of the same month finds everything settled.
	out.Reset()
	if err := run(ctx, &out, folder, 20*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "E-1 is paid as PAY-1, learnt from the lookup\n") || !strings.Contains(out.String(), "the bank has 0 transfers in its books\n") {
		t.Errorf("the second run paid again:\n%s", &out)
	}
}
