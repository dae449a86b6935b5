package project_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cassidy-run/cassidy/internal/config"
	"github.com/cassidy-run/cassidy/internal/project"
	"github.com/cassidy-run/cassidy/internal/trust"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// trusting is a bench with an untrusted project and a store of trust.
func trusting(t *testing.T) *bench {
	b := newBench(t)
	b.opts.TrustOnce = false
	b.opts.Trust = trust.New(t.TempDir())
	return b
}

func (b *bench) review() *trust.Review {
	b.t.Helper()
	r, err := project.Review(b.t.Context(), b.root, &b.opts)
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

// trust trusts the files of a review, or only the named ones.
func (b *bench) trust(names ...string) {
	b.t.Helper()
	files := slices.DeleteFunc(b.review().Untrusted(), func(f trust.File) bool {
		return len(names) > 0 && !slices.Contains(names, f.Path)
	})
	if err := b.opts.Trust.Record(b.root, files, false); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) author() {
	b.t.Helper()
	if err := b.opts.Trust.MarkAuthor(b.root); err != nil {
		b.t.Fatal(err)
	}
}

// states lists the tools: the name of each, with the reason if it is untrusted.
func (b *bench) states() string {
	b.t.Helper()
	p, _ := b.load()
	var list []string
	for _, f := range p.Tools {
		text := f.Head.Name
		switch {
		case f.Reason != "" && len(f.Granted) > 0:
			b.t.Errorf("%s is untrusted and granted %v", f.Head.Name, f.Granted)
		case f.Reason != "":
			text += " (" + strings.TrimSuffix(f.Reason, "; run cassidy trust") + ")"
			if !strings.HasSuffix(f.Reason, "; run cassidy trust") {
				b.t.Errorf("%s: the reason %q does not say what to type", f.Head.Name, f.Reason)
			}
		}
		for _, c := range f.Granted {
			text += " " + c.String()
		}
		list = append(list, text)
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

func (b *bench) wantStates(when, want string) {
	b.t.Helper()
	if got := b.states(); got != want {
		b.t.Errorf("%s: %s, want %s", when, got, want)
	}
}

// needing is a tool with some needs, as in "fs.read", "env:X".
func needing(doc, needs string) string {
	return "def f():\n    \"" + doc + "\"\n    return 1\n\ntool(f, needs = [" + needs + "])\n"
}

// loading is a tool that loads lib/x.star.
const loading = "load('lib/x.star', 'x')\n\ndef f():\n    \"L.\"\n    return x\n\ntool(f)\n"

func TestNothingIsTrustedUnasked(t *testing.T) {
	t.Parallel()
	b := trusting(t)
	b.write(tools+"a.star", needing("A.", `"fs.read"`))
	b.writeAt(filepath.Join(b.home, "tools/p.star"), needing("P.", `"env:X"`), b.long())
	for name, trust := range map[string]*trust.Store{"nil": nil, "no place": trust.New(""), "empty": b.opts.Trust} {
		b.opts.Trust = trust
		b.wantStates(name, "a (nobody has reviewed it yet), p env:X")
	}
	b.opts.TrustOnce = true
	b.wantStates("once", "a fs.read, p env:X")
	if err := trust.New("").Record(b.root, nil, false); err == nil {
		t.Error("a Trust without a place has remembered something")
	}
}

func TestTrustIsOfTheTextThatWasShown(t *testing.T) {
	t.Parallel()
	b := trusting(t)
	b.write(tools+"a.star", needing("A.", `"fs.read:docs/**"`))
	b.write(tools+"b.star", needing("B.", ""))
	r := b.review()
	b.write(tools+"a.star", needing("A!", `"fs.read:docs/**"`)) // between the review and the yes
	if err := b.opts.Trust.Record(b.root, r.Untrusted(), false); err != nil {
		t.Fatal(err)
	}
	b.wantStates("changed meanwhile", "a (the file has changed since it was trusted), b")
	b.trust()
	b.wantStates("trusted", "a fs.read:docs/**, b")
	b.write(tools+"a.star", needing("A!", `"fs.read"`))
	b.wantStates("a wider need", "a (the file has changed since it was trusted), b")
	f := b.review().Untrusted()[0]
	if !f.HasOld || f.OldText != needing("A!", `"fs.read:docs/**"`) || f.Was == nil || len(f.Was.Needs) != 1 || f.Was.Needs[0].Target != "docs/**" {
		t.Errorf("the review compares with %q and %+v, want what was trusted", f.OldText, f.Was)
	}
	b.write(tools+"a.star", needing("A!", `"fs.read:docs/**"`))
	b.wantStates("changed back", "a fs.read:docs/**, b")
	if err := os.Rename(filepath.Join(b.root, tools+"b.star"), filepath.Join(b.root, tools+"c.star")); err != nil {
		t.Fatal(err)
	}
	b.wantStates("renamed", "a fs.read:docs/**, c (nobody has reviewed it yet)")
}

func TestTrustCoversWhatIsLoaded(t *testing.T) {
	t.Parallel()
	b := trusting(t)
	b.write(tools+"lib/x.star", "x = 1\n")
	b.write(tools+"lib/unused.star", "y = 1\n")
	b.write(tools+"a.star", loading)
	b.write(tools+"b.star", loading)
	b.write(tools+"c.star", star("C."))
	var paths []string
	for _, f := range b.review().Untrusted() {
		paths = append(paths, strings.TrimPrefix(f.Path, tools))
	}
	if want := []string{"lib/x.star", "a.star", "b.star", "c.star"}; !slices.Equal(paths, want) {
		t.Errorf("the review shows %v, want %v", paths, want)
	}
	b.trust()
	b.wantStates("trusted", "a, b, c")
	b.write(tools+"lib/x.star", "x = 2\n")
	const changed = "(the loaded file lib/x.star has changed since it was trusted)"
	b.wantStates("the lib changed", "a "+changed+", b "+changed+", c")
	b.trust()
	b.wantStates("trusted again", "a, b, c")
	if err := b.opts.Trust.Revoke(b.root, tools+"lib/x.star"); err != nil {
		t.Fatal(err)
	}
	const revoked = "(trust of the loaded file lib/x.star was revoked)"
	b.wantStates("the lib revoked", "a "+revoked+", b "+revoked+", c")
}

// TestOwnToolsThatTakeMore checks that a tool of the user's own needs a review when it
// could send newly readable data, and when its limits exceed the defaults.
func TestOwnToolsThatTakeMore(t *testing.T) {
	t.Parallel()
	b := trusting(t)
	b.author()
	b.write(tools+"a.star", needing("A.", `"http.get:example.com"`))
	b.trust()
	b.write(tools+"a.star", needing("Edited.", `"http.get:example.com", "fs.read"`))
	b.wantStates("reads what it could send", "a (the tool now also needs fs.read)")
	b.write(tools+"a.star", needing("Edited.", `"http.get:example.com"`))
	b.wantStates("as it was", "a http.get:example.com")
	limited := func(fields string) {
		b.write(tools+"a.star", strings.Replace(needing("Edited.", `"http.get:example.com"`), "tool(f,", "tool(f, "+fields+",", 1))
	}
	limited(`limits = {"memory": 8000000000}, timeout = 600`)
	b.wantStates("takes more", "a (the tool now also needs more memory, more time)")
	limited(`limits = {"requests": 20}`)
	b.wantStates("the default, declared", "a http.get:example.com")
	limited(`limits = {"requests": 21}`)
	b.wantStates("makes more requests", "a (the tool now also needs more requests)")
	b.trust()
	b.wantStates("reviewed", "a http.get:example.com")
	limited(`limits = {"requests": 5}`)
	b.wantStates("makes fewer", "a http.get:example.com")
	limited(`limits = {"requests": 22}`)
	b.wantStates("makes more than reviewed", "a (the tool now also needs more requests)")
}

// TestAProjectsConfigIsBounded checks the size limit of an untrusted config, which is
// read before any review.
func TestAProjectsConfigIsBounded(t *testing.T) {
	for _, target := range []string{"/dev/zero", "/proc/self/pagemap", "../../outside.yaml", "big"} {
		b := trusting(t)
		b.write("big", strings.Repeat("# long\n", 100_000))
		if err := os.MkdirAll(filepath.Join(b.root, ".cassidy"), 0o755); err != nil {
			t.Fatal(err)
		}
		if target == "big" {
			target = filepath.Join("..", "big")
		}
		if err := os.Symlink(target, filepath.Join(b.root, ".cassidy", "config.yaml")); err != nil {
			t.Fatal(err)
		}
		if _, err := config.Read(b.root, &config.Options{Home: b.home}); err == nil || !strings.Contains(err.Error(), "read config: ") {
			if target != "../../outside.yaml" { // which is not there, and so says nothing
				t.Errorf("a config that is a link to %s: %v, want it refused", target, err)
			}
		}
	}
}

func TestTrustOfOnesOwnProject(t *testing.T) {
	t.Parallel()
	b := trusting(t)
	b.author()
	b.write(tools+"a.star", needing("A.", ""))
	b.write(tools+"b.star", needing("B.", `"env:A"`))
	b.wantStates("new files", "a, b (the tool is new, and needs env:A)")
	b.trust()
	b.write(tools+"b.star", needing("Edited.", `"env:A"`))
	b.write(tools+"c.star", needing("C.", `"fs.read:docs/**"`))
	b.wantStates("edited, and a new one that only reads", "a, b env:A, c fs.read:docs/**")
	b.write(tools+"b.star", needing("Edited.", `"env:A", "env:X", "fs.write:out/**"`))
	b.wantStates("more needs", "a, b (the tool now also needs env:X, fs.write:out/**), c fs.read:docs/**")
	b.write(tools+"b.star", needing("Edited.", ""))
	b.wantStates("fewer needs", "a, b env:A, c fs.read:docs/**")
	b.write(tools+"a.star", loading)
	b.write(tools+"lib/x.star", "x = 1\n")
	b.wantStates("a lib of one's own", "a, b env:A, c fs.read:docs/**")
	if err := b.opts.Trust.Revoke(b.root, tools+"a.star"); err != nil {
		t.Fatal(err)
	}
	b.wantStates("revoked", "a (trust was revoked), b env:A, c fs.read:docs/**")
	b.write(tools+"a.star", star("Edited."))
	b.wantStates("revoked and edited", "a (trust was revoked), b env:A, c fs.read:docs/**")
	b.trust()
	b.wantStates("trusted again", "a, b env:A, c fs.read:docs/**")
	if err := b.opts.Trust.Revoke(b.root); err != nil {
		t.Fatal(err)
	}
	const unknown = "(nobody has reviewed it yet)"
	b.wantStates("forgotten", "a "+unknown+", b "+unknown+", c "+unknown)
}

// TestTrustOfOnesOwnFile checks a file that its user wrote in a project of another
// author.
func TestTrustOfOnesOwnFile(t *testing.T) {
	t.Parallel()
	b := trusting(t)
	b.write(tools+"a.star", star("A."))
	b.write(tools+"theirs.star", star("Theirs."))
	r := b.review()
	if err := b.opts.Trust.Record(b.root, r.Untrusted()[:1], true); err != nil {
		t.Fatal(err)
	}
	b.write(tools+"a.star", star("Edited."))
	b.wantStates("edited", "a, theirs (nobody has reviewed it yet)")
	b.write(tools+"lib/x.star", "x = 1\n")
	b.write(tools+"a.star", loading)
	b.wantStates("loads what is theirs", "a (the loaded file lib/x.star is not trusted), theirs (nobody has reviewed it yet)")
	b.trust(tools + "lib/x.star")
	b.wantStates("which is trusted", "a, theirs (nobody has reviewed it yet)")
}

func TestTrustIsOfOneProject(t *testing.T) {
	t.Parallel()
	b := trusting(t)
	b.write(tools+"a.star", star("A."))
	b.trust()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(b.root, link); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	real := b.root
	b.root = link
	b.wantStates("by a link", "a")
	b.root = t.TempDir()
	if err := os.CopyFS(b.root, os.DirFS(real)); err != nil {
		t.Fatal(err)
	}
	b.wantStates("a copy", "a (nobody has reviewed it yet)")
}

// TestDamagedTrust checks that a damaged record trusts nothing, is reported, and can be
// replaced.
func TestDamagedTrust(t *testing.T) {
	t.Parallel()
	b := trusting(t)
	state := t.TempDir()
	b.opts.Trust = trust.New(state)
	b.write(tools+"a.star", needing("A.", `"fs.read"`))
	b.trust()
	records, _ := filepath.Glob(filepath.Join(state, "trust", "*", "0*"))
	if len(records) != 1 {
		t.Fatalf("there are the records %v, want one", records)
	}
	if info, err := os.Stat(records[0]); err != nil || filepath.Separator == '/' && info.Mode().Perm()&0o077 != 0 {
		t.Errorf("the record's mode is %v, want it private", info.Mode())
	}
	whole, err := os.ReadFile(records[0])
	if err != nil {
		t.Fatal(err)
	}
	for i := range whole {
		flipped := slices.Clone(whole)
		flipped[i] ^= 0x41
		for _, bad := range [][]byte{whole[:i], flipped, append(slices.Clone(whole), whole[:i+1]...)} {
			if err := os.WriteFile(records[0], bad, 0o600); err != nil {
				t.Fatal(err)
			}
			if got, want := b.states(), "a (the record of trusted files is damaged)"; got != want {
				t.Fatalf("damaged at %d: %s, want %s", i, got, want)
			}
		}
	}
	if _, _, err := b.opts.Trust.List(b.root); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("List = %v, want that it is damaged", err)
	}
	b.trust()
	b.wantStates("trusted again", "a fs.read")
}

// TestForeignRecord checks that a record is valid only for its own project.
func TestForeignRecord(t *testing.T) {
	t.Parallel()
	b := trusting(t)
	state := t.TempDir()
	b.opts.Trust = trust.New(state)
	b.write(tools+"a.star", star("A."))
	b.trust()
	mine, _ := filepath.Glob(filepath.Join(state, "trust", "*", "0*"))
	text, err := os.ReadFile(mine[0])
	if err != nil {
		t.Fatal(err)
	}
	other := trusting(t)
	other.opts.Trust = b.opts.Trust
	other.write(tools+"a.star", star("A."))
	other.trust()
	all, _ := filepath.Glob(filepath.Join(state, "trust", "*", "0*"))
	for _, file := range all {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b.wantStates("its own", "a")
	other.wantStates("another's", "a (the record of trusted files is damaged)")
}

func TestTrustOfManyAtOnce(t *testing.T) {
	t.Parallel()
	b := trusting(t)
	const n = 24 // well over what is kept of the record
	var want []string
	for i := range n {
		name := string(rune('a' + i))
		b.write(tools+name+".star", star(name))
		want = append(want, name)
	}
	files := b.review().Untrusted()
	var wait sync.WaitGroup
	for i := range files {
		wait.Go(func() { // each as another process would
			if err := b.opts.Trust.Record(b.root, files[i:i+1], false); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	b.wantStates("all", strings.Join(want, ", "))
}

func TestRevokeWhatIsNotTrusted(t *testing.T) {
	t.Parallel()
	b := trusting(t)
	b.write(tools+"a.star", star("A."))
	b.trust()
	err := b.opts.Trust.Revoke(b.root, tools+"b.star")
	if value.KindOf(err) != value.Invalid || !strings.Contains(err.Error(), tools+"b.star is not trusted") {
		t.Errorf("Revoke = %v, want that it is not trusted", err)
	}
	b.wantStates("the other", "a")
}

// TestUntrustedToolTakesNoName checks that a tool that nobody has reviewed does not
// hide one of the user's.
func TestUntrustedToolTakesNoName(t *testing.T) {
	t.Parallel()
	for _, config := range []string{"", "project_overrides_personal: true\n"} {
		b := trusting(t)
		b.write(tools+"both.star", star("Project."))
		b.writeAt(filepath.Join(b.home, "tools/both.star"), star("Personal."), b.long())
		b.writeAt(filepath.Join(b.home, "config.yaml"), config, b.long())
		p, _ := b.load()
		if names(p) != "both=Personal." || len(p.Broken) != 1 || !strings.Contains(p.Broken[0].Error(), "is not reviewed") {
			t.Errorf("with %q tools = %s, broken %v, want the personal one", config, names(p), p.Broken)
		}
	}
}

func TestReviewShowsAllThatAModelObeys(t *testing.T) {
	t.Parallel()
	b := trusting(t)
	want := []string{
		".cassidy/policies/p.star policy", ".cassidy/workflows/deep/w.star workflow", ".cassidy/skills/s.md skill",
		".cassidy/mcp.json servers", ".cassidy/rules/r/one.md notes", "CASSIDY.md notes", ".cassidy/CASSIDY.local.md notes",
	}
	for _, f := range want {
		path, _, _ := strings.Cut(f, " ")
		b.write(path, "text of "+path)
	}
	b.write(".cassidy/config.yaml", "deny: [env]\n")
	b.write(".cassidy/rules/binary.md", "\xff")
	b.write(".cassidy/policies/long.star", strings.Repeat("x", 2<<20))
	r := b.review()
	var got []string
	for _, f := range r.Untrusted() {
		got = append(got, f.Path+" "+string(f.Kind))
	}
	if !slices.Equal(got, want) {
		t.Errorf("the review shows %q, want %q", got, want)
	}
	if len(r.Broken) != 2 {
		t.Errorf("broken = %v, want the binary and the long one", r.Broken)
	}
	b.trust()
	if left := b.review().Untrusted(); len(left) > 0 {
		t.Errorf("after trust there are left %v", left)
	}
	b.write(".cassidy/skills/s.md", "changed")
	b.write(".cassidy/mcp.json", "changed")
	if left := b.review().Untrusted(); len(left) != 2 {
		t.Errorf("after two changes there are left %v", left)
	}
	b.author()
	if left := b.review().Untrusted(); len(left) != 1 || left[0].Kind != trust.KindServers {
		t.Errorf("in one's own project there are left %v, want the servers, which start programs", left)
	}
	err := b.opts.Trusts(b.root, trust.KindServers, ".cassidy/mcp.json", "changed")
	if value.KindOf(err) != value.Denied || err == nil {
		t.Errorf("Trusts = %v, want denied", err)
	}
	if err := b.opts.Trusts(b.root, trust.KindPolicy, ".cassidy/policies/p.star", "text of .cassidy/policies/p.star"); err != nil {
		t.Errorf("Trusts of what was trusted = %v", err)
	}
}

// TestUntrustedContext checks that a model gets nothing from a project that nobody has
// reviewed except a short name.
func TestUntrustedContext(t *testing.T) {
	t.Parallel()
	b := trusting(t)
	b.write("CASSIDY.md", "OBEY one")
	b.write(".cassidy/rules/a.md", "OBEY two")
	b.write(".cassidy/skills/s.md", "---\ndescription: OBEY three\n---\n")
	b.write(".cassidy/skills/OBEY-four.md", "broken OBEY")
	b.writeAt(filepath.Join(b.home, "CASSIDY.md"), "my own words", b.long())
	b.write("main.go", "")
	read := func() string {
		t.Helper()
		for _, m := range project.Modules(b.root, func() *trust.Scope { return &b.opts.Scope }) {
			if m.Name == "context" {
				out, err := m.Funcs[0].Do(t.Context(), tool.Effect{Args: value.NewDict("level", "comprehensive")}, tool.Grant{})
				if err != nil {
					t.Fatal(err)
				}
				return out.Value.(string)
			}
		}
		return ""
	}
	text := read()
	if strings.Contains(text, "OBEY") || strings.Contains(text, "cassidy trust") {
		t.Errorf("the context says what nobody has reviewed:\n%s", text)
	}
	if strings.Contains(text, "main.go") {
		t.Errorf("the context names files of what nobody has reviewed:\n%s", text)
	}
	for _, want := range []string{"3 files", "not reviewed", "(1 file) are invalid", "my own words"} {
		if !strings.Contains(text, want) {
			t.Errorf("the context does not say %q:\n%s", want, text)
		}
	}
	b.trust("CASSIDY.md", ".cassidy/skills/s.md")
	text = read()
	if !strings.Contains(text, "OBEY one") || !strings.Contains(text, "OBEY three") || strings.Contains(text, "OBEY two") || !strings.Contains(text, "(1 file) are not reviewed") {
		t.Errorf("with two trusted the context says:\n%s", text)
	}
	b.write("CASSIDY.md", "OBEY otherwise")
	if text := read(); strings.Contains(text, "OBEY otherwise") {
		t.Errorf("the context says what has changed:\n%s", text)
	}
}

// TestTestFilesAreReviewed checks that test files, and what only they load, need trust, and are
// neither tools nor workflows.
func TestTestFilesAreReviewed(t *testing.T) {
	t.Parallel()
	b := trusting(t)
	for name, text := range map[string]string{
		"tools/a.star": "def a():\n    \"\"\"A.\"\"\"\n    return 1\n\ntool(a)\n", "tools/a_test.star": "load(\"lib/fakes.star\", \"x\")\ndef test_a(t):\n    pass\n",
		"tools/lib/fakes.star": "x = 1\n", "tools/lib/unused.star": "y = 1\n",
		"workflows/w.star": "def main():\n    pass\n", "workflows/w_test.star": "def test_w(t):\n    pass\n",
	} {
		b.write(".cassidy/"+name, text)
	}
	r := b.review()
	got := map[string]trust.Kind{}
	for _, f := range r.Untrusted() {
		got[strings.TrimPrefix(f.Path, ".cassidy/")] = f.Kind
	}
	want := map[string]trust.Kind{"tools/a.star": trust.KindTool, "tools/a_test.star": trust.KindTest, "tools/lib/fakes.star": trust.KindLib, "workflows/w.star": trust.KindWorkflow, "workflows/w_test.star": trust.KindTest}
	if !maps.Equal(want, got) || len(r.Broken) > 0 {
		t.Errorf("the review has %v and the broken files %v, want %v", got, r.Broken, want)
	}
	b.trust()
	if p, _ := b.load(); len(p.Tools) != 1 || len(p.Broken) > 0 {
		t.Errorf("Load: tools %v, broken %v", p.Tools, p.Broken)
	}
	if all, broken := project.Workflows(b.root, &b.opts.Scope); len(all) != 1 || len(broken) > 0 {
		t.Errorf("Workflows: %v, broken %v", all, broken)
	}
	if left := b.review().Untrusted(); len(left) > 0 {
		t.Errorf("after the review, these files are untrusted: %v", left)
	}
}
