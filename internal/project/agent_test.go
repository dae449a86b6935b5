package project_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/cassidy-run/cassidy/internal/project"
	"github.com/cassidy-run/cassidy/internal/trust"
)

// agentText is an agent file.
func agentText(description string, fields ...string) string {
	return "---\ndescription: " + description + "\n" + strings.Join(append(fields, "---", "Do it.", ""), "\n")
}

// agents lists the agents: name, file and state.
func (b *bench) agents() (list string, broken string) {
	b.t.Helper()
	found, errs := project.Agents(b.root, &b.opts.Scope)
	var all []string
	for _, a := range found {
		all = append(all, a.Name+" "+strings.TrimPrefix(a.Path, filepath.ToSlash(b.home)+"/")+" "+a.State())
	}
	for _, e := range errs {
		broken += e.Error() + "\n"
	}
	return strings.Join(all, ", "), broken
}

// TestAgents checks the order of the folders.
func TestAgents(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.write(".claude/agents/one.md", agentText("d"))
	b.write(".claude/agents/two.md", agentText("d"))
	b.write(".agents/agents/one.md", agentText("d"))
	b.write(".agents/agents/README.md", "no agent")
	b.write(".cassidy/agents/three.md", agentText("d", "name: one", "disable: true"))
	b.writeAt(filepath.Join(b.home, "agents", "own.md"), agentText("d"), b.long())
	list, broken := b.agents()
	if list != "one .cassidy/agents/three.md disabled, two .claude/agents/two.md ready, own agents/own.md ready" {
		t.Errorf("agents: %s", list)
	}
	for _, want := range []string{".agents/agents/one.md", ".claude/agents/one.md", "the agent 'one' is not used: .cassidy/agents/three.md has the same name, and comes first"} {
		if !strings.Contains(broken, want) {
			t.Errorf("errors: %s, want %s", broken, want)
		}
	}
}

// TestAgentsRefused checks that a file that cannot be used has one clear error, and does not affect
// others.
func TestAgentsRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.write(".cassidy/agents/good.md", agentText("d"))
	b.write(".cassidy/agents/huge.md", agentText("d")+strings.Repeat("x", 10<<20))
	b.write(".cassidy/agents/broken.md", "---\ndescription: [\n---\n")
	b.write(".cassidy/agents/same-a.md", agentText("d", "name: same"))
	b.write(".cassidy/agents/same-b.md", agentText("d", "name: same"))
	b.write(".cassidy/agents/mine.md", agentText("d"))
	b.write(".cassidy/agents/bytes.md", "---\ndescription: \xff\n---\n")
	b.writeAt(filepath.Join(b.home, "agents", "mine.md"), agentText("e"), b.long())
	wants := []string{
		".cassidy/agents/huge.md: the file is longer than 256 KB", ".cassidy/agents/broken.md:", "the agent 'same' is also in .cassidy/agents/same-b.md",
		"\n.cassidy/agents/mine.md:1: the agent 'mine' is also in ", ".cassidy/agents/bytes.md: the file is not UTF-8 text",
	}
	if runtime.GOOS != "windows" {
		secret := filepath.Join(t.TempDir(), "secret.md")
		b.writeAt(secret, agentText("d"), b.long())
		if err := os.Symlink(secret, filepath.Join(b.root, ".cassidy", "agents", "link.md")); err != nil {
			t.Fatal(err)
		}
		wants = append(wants, ".cassidy/agents/link.md: the path leads out of the folder")
	}
	list, broken := b.agents()
	if list != "good .cassidy/agents/good.md ready" {
		t.Errorf("agents: %s", list)
	}
	for _, want := range wants {
		if strings.Count("\n"+broken, want) != 1 {
			t.Errorf("errors:\n%s\nwant once %s", broken, want)
		}
	}
}

// TestAgentsBound checks that the agents of a project can be recorded with each run.
func TestAgentsBound(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for i := range 8 {
		b.write(fmt.Sprintf(".cassidy/agents/a%d.md", i), agentText("d")+strings.Repeat("x", 200<<10))
	}
	found, broken := project.Agents(b.root, &b.opts.Scope)
	if len(found) != 5 || len(broken) != 3 || !strings.Contains(broken[0].Error(), "the agent 'a5' is not used: the agent files are longer than 1024 KB in total") {
		t.Errorf("%d agents, %v, want 5 and 3 errors", len(found), broken)
	}
}

// TestAgentsTrust checks that an agent file needs a review of its content. In a project of the user,
// only one in .cassidy does not, as tools may write elsewhere.
func TestAgentsTrust(t *testing.T) {
	t.Parallel()
	b := trusting(t)
	b.write(".cassidy/agents/ours.md", agentText("d"))
	b.write(".agents/agents/same.md", agentText("d"))
	b.write(".claude/agents/same.md", agentText("d"))
	if list, _ := b.agents(); list != "ours .cassidy/agents/ours.md untrusted, same .agents/agents/same.md untrusted" {
		t.Errorf("before the review: %s", list)
	}
	b.trust(".claude/agents/same.md")
	if list, _ := b.agents(); list != "ours .cassidy/agents/ours.md untrusted, same .claude/agents/same.md ready" {
		t.Errorf("after a review of the last: %s", list)
	}
	b.trust()
	if list, _ := b.agents(); list != "ours .cassidy/agents/ours.md ready, same .agents/agents/same.md ready" {
		t.Errorf("after the review: %s", list)
	}
	b.write(".cassidy/agents/ours.md", agentText("other"))
	b.write(".agents/agents/same.md", agentText("other"))
	if list, _ := b.agents(); list != "ours .cassidy/agents/ours.md untrusted, same .claude/agents/same.md ready" {
		t.Errorf("after a change: %s", list)
	}
	b.author()
	b.write(".cassidy/agents/ours.md", agentText("mine"))
	b.write(".claude/agents/same.md", agentText("written by a tool"))
	b.write(".claude/agents/new.md", agentText("written by a tool"))
	if list, _ := b.agents(); list != "ours .cassidy/agents/ours.md ready, same .agents/agents/same.md untrusted, new .claude/agents/new.md untrusted" {
		t.Errorf("in a project of the user: %s", list)
	}
	found, _ := project.Agents(b.root, &b.opts.Scope)
	if err := found[1].Usable(); err == nil || !strings.Contains(err.Error(), "the agent 'same' is untrusted: the file has changed since it was trusted") {
		t.Errorf("an untrusted agent: %v", err)
	}
	kinds := ""
	for _, f := range b.review().Untrusted() {
		kinds += fmt.Sprint(f.Path, " ", f.Kind, ", ")
	}
	if kinds != ".agents/agents/same.md agent, .claude/agents/new.md agent, .claude/agents/same.md agent, " {
		t.Errorf("the review lists %s", kinds)
	}
}

// TestAgentsOfFiles checks the agents of a source that is not a folder.
func TestAgentsOfFiles(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{"agents/one.md": {Data: []byte(agentText("d"))}, ".claude/agents/two.md": {Data: []byte(agentText("d"))}}
	found, broken := project.Agents("", &trust.Scope{Files: files, TrustOnce: true})
	if len(found) != 1 || found[0].Name != "one" || found[0].State() != "ready" || broken != nil {
		t.Errorf("Agents = %+v, %v, want one", found, broken)
	}
	if found, _ = project.Agents("", &trust.Scope{Files: files}); found[0].State() != "untrusted" {
		t.Errorf("Agents = %+v, want it untrusted", found)
	}
}
