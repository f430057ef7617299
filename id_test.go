package onefold

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestAnIDIsReadAsItWasWritten: any 128 bits survive, under any prefix, and are
// read under no other.
//
// Proves: M1
func TestAnIDIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		var u [16]byte
		copy(u[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(rt, "bytes"))
		id := FormatID(PrefixOperation, u)
		got, ok := ParseID(PrefixOperation, id)
		if !ok || got != u || len(id) != len(PrefixOperation)+1+26 {
			rt.Fatalf("%x became %s and then %x, %v", u, id, got, ok)
		}
		if _, ok := ParseID(PrefixAttempt, id); ok {
			rt.Fatalf("%s is read as an attempt's", id)
		}
	})
}

// TestIDsSortByTime: a later millisecond sorts later, whatever chance adds, as
// bytes and as text; the time can be read back.
func TestIDsSortByTime(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		ms := rapid.Int64Range(0, 1<<48-2).Draw(rt, "milliseconds")
		var r1, r2 [10]byte
		copy(r1[:], rapid.SliceOfN(rapid.Byte(), 10, 10).Draw(rt, "chance"))
		copy(r2[:], rapid.SliceOfN(rapid.Byte(), 10, 10).Draw(rt, "other chance"))
		a, b := UUIDv7(time.UnixMilli(ms), r1), UUIDv7(time.UnixMilli(ms+1), r2)
		if bytes.Compare(a[:], b[:]) >= 0 || FormatID("op", a) >= FormatID("op", b) {
			rt.Fatalf("%x does not come before %x", a, b)
		}
		if a[6]>>4 != 7 || a[8]>>6 != 2 {
			rt.Fatalf("%x is no UUID of version 7", a)
		}
		if got := IDTime("op", FormatID("op", a)); got.UnixMilli() != ms {
			rt.Fatalf("the time of %x is read as %v", a, got)
		}
	})
}

// TestIDsHaveOneSpelling: what is not written by FormatID is no id.
func TestIDsHaveOneSpelling(t *testing.T) {
	t.Parallel()
	good := FormatID("op", UUIDv7(dawn, [10]byte{1, 2, 3}))
	suffix := strings.TrimPrefix(good, "op_")
	for _, id := range []string{
		"", "op", "op_", "_", suffix, "OP_" + suffix, "op-" + suffix, "op__" + suffix[1:], "ops_" + suffix, "xop_" + suffix,
		"op_" + strings.ToUpper(suffix), "op_" + suffix[1:], "op_" + suffix + "0", " " + good, good + " ", good + "\n", good + "\x00",
		"op_8" + suffix[1:], "op_z" + suffix[1:], // more than 128 bits
		"op_" + suffix[:25] + "i", "op_" + suffix[:25] + "l", "op_" + suffix[:25] + "o", "op_" + suffix[:25] + "u", // not in the alphabet
		"op_" + suffix[:24] + "é", "op_" + strings.Repeat("\xff", 26), "op_" + strings.Repeat("0", 1<<16),
		"op_" + suffix[:25] + "'", "op_../../etc/passwd/xxxxxxxxxx",
	} {
		if u, ok := ParseID("op", id); ok || !IDTime("op", id).IsZero() {
			t.Errorf("%.60q is read as %x", id, u)
		}
	}
	if _, ok := ParseID("op", "op_7"+strings.Repeat("z", 25)); !ok {
		t.Error("the largest id is not read")
	}
}

// FuzzParseID: what is read is written back the same way, and nothing panics.
func FuzzParseID(f *testing.F) {
	f.Add("op", FormatID("op", UUIDv7(dawn, [10]byte{})))
	f.Add("", "_00000000000000000000000000")
	f.Add("op", "op_8zzzzzzzzzzzzzzzzzzzzzzzzz")
	f.Fuzz(func(t *testing.T, prefix, id string) {
		if u, ok := ParseID(prefix, id); ok && FormatID(prefix, u) != id {
			t.Errorf("%q has a second spelling %q", id, FormatID(prefix, u))
		}
	})
}
