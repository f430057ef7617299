package main

import (
	"bytes"
	"context"
	"regexp"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Jobs run more than one time, and each order is made one time.
//
// Proves: M7, M11, M11a, M16
func TestEachOrderIsMadeOneTime(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var out bytes.Buffer
	if err := run(ctx, &out, t.TempDir()); err != nil {
		t.Fatal(err, out.String())
	}
	for _, line := range []string{
		`job 1, O-1: ordered as PO-\d`,
		`job 2, O-2: ordered as PO-\d`,
		`job 3, O-2: ordered as PO-\d`,
		`job 4, O-3: ordered as PO-\d`,
		`job 5, O-4: ordered as PO-\d`,
		`job 6, O-5: parked \(uncertain\), it belongs to purchasing@acme.example`,
		`the ERP has 4 orders`,
	} {
		if !regexp.MustCompile(`(?m)^` + line + `$`).Match(out.Bytes()) {
			t.Errorf("the run does not say %q:\n%s", line, &out)
		}
	}
}
