package machine_test

import (
	"testing"
	"time"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/machine"
)

// Proves: M9
func TestTheMachinesClockGoesOn(t *testing.T) {
	t.Parallel()
	before := machine.Boot()
	<-time.After(time.Millisecond)
	if after := machine.Boot(); after-before < time.Millisecond {
		t.Errorf("from %v to %v in a millisecond", before, after)
	}
}

func TestTheMachinesIdentifiersAreFresh(t *testing.T) {
	t.Parallel()
	at := time.Now()
	one, two := machine.IDs().New(onefold.PrefixOperation, at), machine.IDs().New(onefold.PrefixOperation, at)
	if _, ok := onefold.ParseID(onefold.PrefixOperation, one); !ok || one == two {
		t.Errorf("%s and %s", one, two)
	}
}
