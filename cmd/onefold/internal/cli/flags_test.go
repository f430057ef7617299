package cli

import (
	"bytes"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// flagsOf lists every flag of every command as "command --flag".
func flagsOf(c *cobra.Command) map[string]*pflag.Flag {
	out := map[string]*pflag.Flag{}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		c.Flags().VisitAll(func(f *pflag.Flag) { out[strings.TrimPrefix(c.CommandPath(), "onefold ")+" --"+f.Name] = f })
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(c)
	return out
}

// edges are values just within and just outside of a flag's range, and texts that
// are no such value at all.
func edges(t *testing.T, v pflag.Value) (inside, outside []string) {
	t.Helper()
	beyond := func(n int64) string { return new(big.Int).Add(big.NewInt(n), big.NewInt(1)).String() }
	number := func(least, most int64) {
		inside = []string{big.NewInt(least).String(), big.NewInt(most).String()}
		outside = []string{big.NewInt(least - 1).String(), beyond(most), "-1", "-9223372036854775809", "1.5", "1e2", "0x10", "", "many", " 1", "1_0"}
	}
	switch f := v.(type) {
	case numberFlag[int]:
		number(int64(f.least), int64(f.most))
	case numberFlag[int64]:
		number(f.least, f.most)
	case durationFlag:
		inside = []string{f.least.String(), f.most.String(), shortly(f.most)}
		outside = []string{(f.most + 1).String(), "36501d", "36500d2562047h", "-1ns", "-1s", "-1d", "1", "", "soon", "d", "1d-1s", "9999999999h"}
		if f.least > 0 {
			outside = append(outside, "0", "0s", (f.least - 1).String())
		}
	case bytesFlag:
		inside = []string{"1", "1024TiB", "1KiB"}
		outside = []string{"0", "-1", "0KiB", "1025TiB", "1125899906842625", "8388608TiB", "9223372036854775808", "1.5GiB", "", "KiB", "many", "1PiB"}
	default:
		t.Fatalf("a flag of the type %T has a range that this test does not know", v)
	}
	return inside, outside
}

// Every flag that takes a number, a duration or a size has a range, its help names
// it, and a value outside of it is wrong usage, whichever command it is of: exit
// code 2, the range in words, and nothing done.
func TestEveryFlagKeepsToItsRange(t *testing.T) {
	t.Parallel()
	var seen []string
	for name, flag := range flagsOf(New(Process{})) {
		v, is := flag.Value.(ranged)
		if !is {
			if kind := flag.Value.Type(); !slices.Contains([]string{"string", "bool", "stringArray", "stringSlice", "FORM", "STATE", "BOOL", "STATUS", "OUTCOME", "DECISION"}, kind) {
				t.Errorf("%s takes %s and has no range", name, kind)
			}
			continue
		}
		seen = append(seen, name)
		if !strings.HasSuffix(flag.Usage, "; "+v.Range()) {
			t.Errorf("%s: the help does not say its range: %s", name, flag.Usage)
		}
		inside, outside := edges(t, v)
		for _, text := range inside {
			if err := flag.Value.Set(text); err != nil {
				t.Errorf("%s: %q is within the range: %v", name, text, err)
			}
		}
		for _, text := range outside {
			command, flag, _ := strings.Cut(name, " --")
			var out, errOut bytes.Buffer
			code := Main(t.Context(), Process{Stdout: &out, Stderr: &errOut, Now: time.Now, LookupEnv: func(string) (string, bool) { return "", false }},
				append(strings.Fields(command), "--"+flag+"="+text, "--output", "json"))
			if code != ExitUsage || out.Len() > 0 || !strings.Contains(errOut.String(), v.Range()) || !strings.Contains(errOut.String(), `"code":"usage"`) {
				t.Errorf("%s=%s: exit code %d, %q, %q; the range is %s", name, text, code, out.String(), errOut.String(), v.Range())
			}
		}
	}
	if len(seen) < 25 {
		t.Errorf("only %d flags have a range: %q", len(seen), seen)
	}
}

// A range is written so that it can be typed, and what is shown of a flag is what
// it was set to.
func TestRangesCanBeTyped(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{0: "0s", mostAge: "36500d", 36 * time.Hour: "36h", time.Millisecond: "1ms", 90 * time.Second: "1m30s"} {
		if got := shortly(d); got != want {
			t.Errorf("%v is written %s, want %s", d, got, want)
		} else if back, err := parseDuration(got); err != nil || back != d {
			t.Errorf("%s is read as %v, %v", got, back, err)
		}
	}
	var limit int
	var version, size int64
	var wait time.Duration
	for text, v := range map[string]ranged{
		"7": numberFlag[int]{&limit, 1, 200}, "9223372036854775807": numberFlag[int64]{&version, 1, math.MaxInt64},
		"1m30s": durationFlag{&wait, 0, mostAge}, "64MiB": bytesFlag{&size},
	} {
		if err := v.Set(text); err != nil || v.String() != text {
			t.Errorf("%s is shown as %s, %v", text, v, err)
		}
	}
	if limit != 7 || version != math.MaxInt64 || wait != 90*time.Second || size != 64<<20 {
		t.Errorf("%d %d %v %d", limit, version, wait, size)
	}
}
