package sandbox_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/sandbox"
)

// TestI02NothingIsLeft has calls poison what they can reach: the next call of
// the same script, which may be in the same worker, finds nothing of it.
func TestI02NothingIsLeft(t *testing.T) {
	box := newProcess(t, nil, world)
	scripts := map[string]tool.Script{
		"lua globals": {Path: "a.lua", Source: `return tool{description = "F.", handler = function(args)
			local seen = tostring(_G and rawget(_G, "left")) .. type(string.rep) .. type(tostring) .. ("x"):upper()
			pcall(function() left = args.value end)
			pcall(function() _G.left = args.value end)
			pcall(function() string.rep = nil end)
			pcall(function() rawset(string, "rep", nil) end)
			pcall(function() tostring = nil end)
			pcall(function() getmetatable("").__index = function() return function() return args.value end end end)
			pcall(function() getmetatable("").__call = print end)
			pcall(function() setmetatable(_G, {__index = function() return args.value end}) end)
			pcall(function() table.insert(math, args.value) end)
			pcall(function() json.encode = function() return args.value end end)
			return seen .. json.encode({1}) .. tostring(undefined_name)
		end}`},
		"lua upvalues":  {Path: "b.lua", Source: "local kept = {}\nreturn tool{description = \"F.\", handler = function(args)\nkept[#kept + 1] = args.value\nreturn #kept\nend}\n"},
		"lua error":     {Path: "c.lua", Source: "local n = 0\nreturn tool{description = \"F.\", handler = function(args)\nn = n + 1\nerror(\"n is \" .. n)\nend}\n"},
		"lua coroutine": {Path: "d.lua", Source: "local c = coroutine.wrap(function() local n = 0 while true do n = n + 1 coroutine.yield(n) end end)\nreturn tool{description = \"F.\", handler = function(args) return c() end}\n"},
		"star global":   {Path: "a.star", Source: "KEPT = []\n\ndef f(value):\n    \"F.\"\n    KEPT.append(value)\n    return len(KEPT)\n\ntool(f)\n"},
		"star default":  {Path: "b.star", Source: "def f(value, kept = {}):\n    \"F.\"\n    kept[value] = 1\n    return len(kept)\n\ntool(f)\n"},
		"star argument": {Path: "c.star", Source: "def f(value):\n    \"F.\"\n    value.append(1)\n    return len(value)\n\ntool(f)\n"},
		"star closure":  {Path: "d.star", Source: "def make():\n    kept = []\n    def g(x):\n        kept.append(x)\n        return len(kept)\n    return g\n\nG = make()\n\ndef f(value):\n    \"F.\"\n    return G(value)\n\ntool(f)\n"},
	}
	for name, s := range scripts {
		t.Run(name, func(t *testing.T) {
			call := func(i int) string {
				args := value.NewDict("value", fmt.Sprintf("poison %d", i))
				if s.Path == "c.star" {
					args = value.NewDict("value", value.List{"a"})
				}
				out, err := box.Run(context.Background(), s, tool.Call{Args: args}, answer)
				if err != nil && value.KindOf(err) != value.Failed && value.KindOf(err) != value.Internal {
					t.Errorf("call %d gave %v", i, err)
				}
				return fmt.Sprint(value.FormatJSON(out.Value, ""), err)
			}
			first := call(0)
			for i := 1; i < 4; i++ {
				if got := call(i); got != first {
					t.Errorf("call %d gave %s, want %s, as the first did", i, got, first)
				}
			}
			nextCallIsRight(t, box)
		})
	}
}

// TestI04WorkersHearOfOneScriptOnly has workers tell all that ever came to
// them: it is of one script, with its arguments and its effects, and of no other.
func TestI04WorkersHearOfOneScriptOnly(t *testing.T) {
	const scripts, rounds = 6, 4
	box := hostileProcess(t, "tells")
	secret := func(script, round int) string { return fmt.Sprintf("secret-%d-%d-", script, round) }
	var all sync.WaitGroup
	for i := range scripts {
		all.Go(func() {
			s := script(fmt.Sprintf("f%d", i), "return '"+secret(i, 99)+"'")
			for round := range rounds {
				own := secret(i, round)
				out, err := box.Run(context.Background(), s, tool.Call{Args: value.NewDict("value", own)}, answer)
				list, _ := out.Value.(value.List)
				if err != nil || len(list) != 2 {
					t.Errorf("Run = %v, %v, want what the worker heard", out.Value, err)
					return
				}
				heard := list[0].([]byte)
				if !bytes.Contains(heard, []byte(own)) {
					t.Error("the worker has not heard its own argument")
				}
				own = fmt.Sprintf("secret-%d-", i)
				for rest := string(heard); ; {
					at := strings.Index(rest, "secret-")
					if at < 0 {
						break
					}
					if rest = rest[at:]; !strings.HasPrefix(rest, own) {
						t.Errorf("the worker of script %d has heard %.12q", i, rest)
					}
					rest = rest[1:]
				}
			}
		})
	}
	all.Wait()
	poolIsQuiet(t, box)
}

// TestI05NoEnvironment checks that a worker is told its own name, what its
// runtime must know, and nothing that its host was.
func TestI05NoEnvironment(t *testing.T) {
	t.Setenv("CASSIDY_SECRET", "hush")
	box := hostileProcess(t, "tells")
	out, err := box.Run(context.Background(), echoScript, tool.Call{}, answer)
	list, _ := out.Value.(value.List)
	if err != nil || len(list) != 2 {
		t.Fatalf("Run = %v, %v, want what the worker was told", out.Value, err)
	}
	if want := fmt.Sprintf("%q %q", []string{"cassidy-worker"}, sandbox.WorkerEnv()); list[1] != want {
		t.Errorf("the worker was told %s, want %s", list[1], want)
	}
	if bytes.Contains(list[0].([]byte), []byte("hush")) {
		t.Error("the worker has heard a variable of its host")
	}
}

// TestI05ErrorsTellNothing provokes errors of all sorts: none tells where the
// host keeps things.
func TestI05ErrorsTellNothing(t *testing.T) {
	t.Setenv("CASSIDY_SECRET", "a-secret-of-the-environment")
	box := newProcess(t, nil, world)
	bodies := []string{
		"fail('x')", "return 1 // 0", "return [][1]", "return {}['x']", "return undefined", "return json.decode('[')",
		"return re.find_all('(', 'x')", "return world.nothing()", "return world.ask(1, 2, 3)",
		"return f", "return world", "return json", "return time.parse('x', 'y')", "return yaml.decode('a: [')",
		"return csv.decode(1)", "return math.sqrt('x')", "return '%d' % 'x'", "return 'x'.format(", "return world.ask(f)",
		"return time.format(0, zone = 'Nowhere/City')", "fail(str(world))", "fail(repr(json), f, print)", "return base64.decode('!')",
		swells, "x = (1,)\nfor _ in range(40): x = (x, x)\nreturn {x: 1}",
	}
	for _, body := range bodies {
		s := script("dir/f", body)
		_, err := box.Describe(context.Background(), s)
		if err == nil {
			_, err = box.Run(context.Background(), s, tool.Call{Limits: attack{want: "cpu"}.limits()}, answer)
		}
		if err == nil {
			t.Errorf("%q did not fail", body)
		}
		tellsNothing(t, err)
	}
	for _, body := range []string{"error('x')", "error({})", "return nil + 1", "return nothing()", "return string.rep()", "return world.ask(1, 2)",
		"return ('x'):bad()", "return json.decode('[')", "return #nil", "error(tostring(print))", "return print", "return coroutine.create(print)"} {
		s := lua("I05", "", body, "").script()
		_, err := box.Run(context.Background(), s, tool.Call{}, answer)
		if err == nil {
			t.Errorf("%q did not fail", body)
		}
		tellsNothing(t, err)
	}
}

// tellsNothing checks that an error is not about this machine.
func tellsNothing(t testing.TB, err error) {
	t.Helper()
	e := value.ErrorOf(err, value.Internal)
	if e == nil {
		return
	}
	text := strings.Join(append(e.Trace, e.Error(), e.Hint, e.Op, string(e.Limit)), "\n")
	here, _ := os.Getwd()
	exe, _ := os.Executable()
	secrets := []string{here, filepath.Dir(exe), os.TempDir() + "/", "/proc/", "/usr/", ".go:", "goroutine ", "0xc0", "cassidy-run/", os.Getenv("CASSIDY_SECRET")}
	if home, err := os.UserHomeDir(); err == nil && len(home) > 1 {
		secrets = append(secrets, home)
	}
	for _, secret := range secrets {
		if secret != "" && strings.Contains(text, secret) {
			t.Errorf("the error %q tells %q", text, secret)
		}
	}
	if value.Clean(text, len(text)) != text {
		t.Errorf("the error %q holds what is not fit to be shown", text)
	}
}

// TestErrorsAreClean has scripts fail with what a terminal obeys.
func TestErrorsAreClean(t *testing.T) {
	box := newProcess(t, nil, world)
	const evil = "a\\x1b[31m\\u009b2Jb\\u202ec\\u2066d\\x07\\x00e\\n\\tf"
	for _, s := range []tool.Script{
		script("f", "fail('"+evil+"')"),
		script("f", "return {}['"+evil+"']"),
		script("f", "return world.ask(**{'"+evil+"': 1})"),
		{Path: "f.lua", Source: "return tool{description = \"F.\", handler = function() error(\"a\\27[31m\\194\\1552Jb\\226\\128\\174c\\7\\0e\") end}\n"},
	} {
		_, err := box.Run(context.Background(), s, tool.Call{}, answer)
		if err == nil {
			t.Fatalf("%q did not fail", s.Source)
		}
		tellsNothing(t, err)
	}
	for in, want := range map[string]string{
		"plain\n\ttext é 日本 👩‍🚀": "plain\n\ttext é 日本 👩‍🚀",
		"\x1b[0m\r\x00\x7f":      `\u001b[0m\u000d\u0000\u007f`,
		"\u009b31m\u0085":        `\u009b31m\u0085`,
		"a\u202eb\u2066\u200fc":  `a\u202eb\u2066\u200fc`,
		"\xff":                   `\xff`,
	} {
		if got := value.Clean(in, 40); got != want {
			t.Errorf("Clean(%q) = %q, want %q", in, got, want)
		}
	}
	if got, want := value.Clean("aé345", 2), "a…"; got != want {
		t.Errorf("Clean of a long text = %q, want %q", got, want)
	}
}

// TestQuarantineIsOneScripts checks that a worker which breaks the rules over
// one file keeps no other from being read or run, and that calls of its own
// that wait already are not made.
func TestQuarantineIsOneScripts(t *testing.T) {
	const hint = "the tool is disabled"
	box := hostileProcess(t, "bad-type")
	ctx := context.Background()
	for i := range 2 {
		s := script(fmt.Sprintf("f%d", i), "return 1")
		for round := range 2 {
			_, err := box.Describe(ctx, s)
			e := value.ErrorOf(err, value.Internal)
			if e == nil || e.Kind != value.Security || strings.Contains(e.Hint, hint) != (round == 1) {
				t.Errorf("describing %s, time %d, gave %v (%s), want it refused the second time", s.Path, round, e, e.Hint)
			}
		}
		if _, err := box.Run(ctx, s, tool.Call{}, nil); err == nil || !strings.Contains(value.ErrorOf(err, value.Internal).Hint, hint) {
			t.Errorf("running %s gave %v, want it refused", s.Path, err)
		}
	}
	poolIsQuiet(t, box)
}

// TestQuarantineOfWhatWaits is the part of it about calls that wait.
func TestQuarantineOfWhatWaits(t *testing.T) {
	box := hostileProcess(t, "effect-twice")
	var all sync.WaitGroup
	var mu sync.Mutex
	served, refused := 0, 0
	for range 40 {
		all.Go(func() {
			_, err := box.Run(context.Background(), echoScript, tool.Call{}, func(ctx context.Context, e tool.Effect) (tool.Outcome, error) {
				mu.Lock()
				defer mu.Unlock()
				served++
				return answer(ctx, e)
			})
			e := value.ErrorOf(err, value.Internal)
			if e == nil || e.Kind != value.Security {
				t.Errorf("the call gave %v, want a security error", err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			if strings.Contains(e.Hint, "the tool is disabled") {
				refused++
			}
		})
	}
	all.Wait()
	// Two may compute at a time, and while one waits for its effect a third.
	if refused < 30 || served > 10 {
		t.Errorf("of 40 calls %d were refused and %d got an effect, want nearly all and nearly none", refused, served)
	}
	poolIsQuiet(t, box)
}
