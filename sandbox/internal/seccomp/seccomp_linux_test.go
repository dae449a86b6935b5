//go:build amd64 || arm64

package seccomp

import (
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/sandbox/internal/seccomp/seccomptest"
)

func mustAssemble(t *testing.T, otherwise uint32, rules ...Rule) []unix.SockFilter {
	t.Helper()
	prog, err := Assemble(NativeArch(), otherwise, rules)
	if err != nil {
		t.Fatal(err)
	}
	return prog
}

func TestAssemble(t *testing.T) {
	one, two, three := Errno(1), Errno(2), Errno(3)
	rules := []Rule{
		{10, []Test{Equals(0, 7)}, one},
		{10, []Test{Equals(5, 1<<40|9), Without(1, 6)}, two},
		{11, nil, three}, // after a failed match of arguments
		{10, nil, three},
		{10, nil, one}, // never reached: the first wins
		{12, []Test{{2, 1 << 63, 1 << 63}}, one},
	}
	prog := mustAssemble(t, Allow, rules...)
	for _, tt := range []struct {
		name string
		nr   uint32
		args [6]uint64
		want uint32
	}{
		{"first", 10, [6]uint64{7}, one},
		{"low word only", 10, [6]uint64{7 | 1<<32}, three},
		{"second", 10, [6]uint64{5: 1<<40 | 9}, two},
		{"second, one test fails", 10, [6]uint64{1: 4, 5: 1<<40 | 9}, three},
		{"other bits do not matter", 10, [6]uint64{1: ^uint64(6), 5: 1<<40 | 9}, two},
		{"none", 10, [6]uint64{}, three},
		{"after others' arguments", 11, [6]uint64{7}, three},
		{"top bit", 12, [6]uint64{2: 1 << 63}, one},
		{"no top bit", 12, [6]uint64{2: 1<<63 - 1}, Allow},
		{"no rule", 13, [6]uint64{7}, Allow},
		{"the number of a rule as argument", 13, [6]uint64{10, 11, 12}, Allow},
	} {
		if got := seccomptest.Verdict(t, prog, seccomptest.Call{Arch: NativeArch(), Nr: tt.nr, Args: tt.args}); got != tt.want {
			t.Errorf("%s: got %#x, want %#x", tt.name, got, tt.want)
		}
	}
	if got := seccomptest.Verdict(t, prog, seccomptest.Call{Arch: NativeArch() ^ 1, Nr: 13, Args: [6]uint64{}}); got != Kill {
		t.Errorf("another architecture, otherwise allowed: got %#x, want %#x", got, Kill)
	}
}

// TestAssembleFar has rules that no conditional jump can leave.
func TestAssembleFar(t *testing.T) {
	var args []Test
	for bit := range 64 {
		args = append(args, Test{bit % 6, 1 << bit, 0})
	}
	prog := mustAssemble(t, Kill, Rule{1, args, Errno(1)}, Rule{1, nil, Errno(2)}, Rule{2, nil, Errno(3)})
	for bit := range 64 {
		c := seccomptest.Call{Arch: NativeArch(), Nr: 1}
		c.Args[bit%6] = 1 << bit
		if got, want := seccomptest.Verdict(t, prog, c), Errno(2); got != want {
			t.Errorf("bit %d: got %#x, want %#x", bit, got, want)
		}
	}
	for nr, want := range map[uint32]uint32{1: Errno(1), 2: Errno(3), 3: Kill} {
		if got := seccomptest.Verdict(t, prog, seccomptest.Call{Arch: NativeArch(), Nr: nr}); got != want {
			t.Errorf("system call %d: got %#x, want %#x", nr, got, want)
		}
	}
}

func TestAssembleRefuses(t *testing.T) {
	for name, rules := range map[string][]Rule{
		"argument 6":   {{1, []Test{Equals(6, 0)}, Allow}},
		"argument -1":  {{1, []Test{Equals(-1, 0)}, Allow}},
		"no mask":      {{1, []Test{{0, 0, 0}}, Allow}},
		"never":        {{1, []Test{{0, 1, 2}}, Allow}},
		"never, high":  {{1, []Test{{0, 1, 1 << 40}}, Allow}},
		"too long":     make([]Rule, 2100),
		"far too long": make([]Rule, 1<<16),
	} {
		if _, err := Assemble(NativeArch(), Kill, rules); value.ErrorOf(err, value.Failed) == nil {
			t.Errorf("%s: got no error", name)
		}
	}
}

func TestInstallRefuses(t *testing.T) {
	if err := Install(nil); err == nil {
		t.Error("no program: got no error")
	}
	if err := Install(make([]unix.SockFilter, maxProgram+1)); err == nil {
		t.Error("a program that is too long: got no error")
	}
}

// TestAssembleMeans compares programs with what their rules say.
func TestAssembleMeans(t *testing.T) {
	word := rapid.SampledFrom([]uint64{0, 1, 2, 3, 1 << 31, 1 << 32, 1<<32 | 1, 1<<63 | 2, ^uint64(0), ^uint64(1)})
	rule := rapid.Custom(func(t *rapid.T) Rule {
		r := Rule{nr: rapid.Uint32Range(0, 4).Draw(t, "nr"), action: Errno(unix.Errno(rapid.IntRange(1, 200).Draw(t, "errno")))}
		for range rapid.IntRange(0, 4).Draw(t, "tests") {
			mask := word.Filter(func(w uint64) bool { return w != 0 }).Draw(t, "mask")
			r.args = append(r.args, Test{rapid.IntRange(0, 5).Draw(t, "index"), mask, word.Draw(t, "value") & mask})
		}
		return r
	})
	rapid.Check(t, func(t *rapid.T) {
		rules := rapid.SliceOfN(rule, 0, 12).Draw(t, "rules")
		c := seccomptest.Call{Arch: NativeArch(), Nr: rapid.Uint32Range(0, 5).Draw(t, "call")}
		for i := range c.Args {
			c.Args[i] = word.Draw(t, "argument")
		}
		prog, err := Assemble(NativeArch(), Allow, rules)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := seccomptest.Verdict(t, prog, c), meaning(rules, c, Allow); got != want {
			t.Errorf("verdict(%+v) = %#x, want %#x with %+v", c, got, want, rules)
		}
	})
}

// meaning is what rules say of a call.
func meaning(rules []Rule, c seccomptest.Call, otherwise uint32) uint32 {
rules:
	for _, r := range rules {
		if r.nr != c.Nr {
			continue
		}
		for _, a := range r.args {
			if c.Args[a.index]&a.mask != a.value {
				continue rules
			}
		}
		return r.action
	}
	return otherwise
}
