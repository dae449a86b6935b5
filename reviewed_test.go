package cassidy_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/internal/project"
	"github.com/cassidy-run/cassidy/internal/skill"
	"github.com/cassidy-run/cassidy/internal/trust"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/hooks"
	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/model/script"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A reviewedWorld is a project whose files its user has reviewed, and a host of a program on it. The
// model cannot be reached, until up is set.
type reviewedWorld struct {
	*testing.T
	dir   string
	store *trust.Store
	host  *cassidy.Host
	up    bool
}

const (
	policyFile = ".cassidy/policies/own.star"
	hooksFile  = ".cassidy/hooks.star"
)

func newReviewedWorld(t *testing.T, store journal.Store) *reviewedWorld {
	w := &reviewedWorld{T: t, dir: t.TempDir()}
	p, err := agent.Builtin("task")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		policyFile:                      p.Script.Source,
		hooksFile:                       "def on_stop(run):\n    return None\n",
		".cassidy/agents/helper.md":     "---\nname: helper\ndescription: Helps.\n---\nHelp.\n",
		".claude/agents/other.md":       "---\nname: other\ndescription: Helps.\npolicy: own\n---\nHelp.\n",
		".cassidy/tools/greet.star":     "load(\"lib/words.star\", \"word\")\n\ndef greet():\n    \"Greet.\"\n    human.confirm(\"so?\")\n    return word\n\ntool(greet, needs = [\"human\"])\n",
		".cassidy/tools/lib/words.star": "word = \"hi\"\n",
	} {
		putFile(t, filepath.Join(w.dir, filepath.FromSlash(name)), text)
	}
	state := t.TempDir()
	r := newRuntime(t, &cassidy.RuntimeOptions{Store: store})
	w.host, w.store = openIn(t, r, cassidy.Dir(w.dir), &cassidy.Options{State: state, Home: t.TempDir(), NoBuiltins: true}), trust.New(state)
	w.review()
	return w
}

// review trusts all files of the project.
func (w *reviewedWorld) review() {
	w.Helper()
	review, err := project.Review(context.Background(), w.dir, &project.Options{Scope: trust.Scope{Trust: w.store}, Describe: w.host.Describe})
	if err == nil {
		err = w.store.Record(w.dir, review.Files, false)
	}
	if err == nil {
		err = w.host.Refresh(context.Background())
	}
	if err != nil {
		w.Fatal(err)
	}
}

// options returns an agent that uses the policy, the hooks and the agent files of the project.
func (w *reviewedWorld) options() *agent.Options {
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(w.dir, filepath.FromSlash(name)))
		if err != nil {
			w.Fatal(err)
		}
		return string(text)
	}
	o := &agent.Options{
		Policy: "own", Tools: []string{}, Hooks: []hooks.File{{Path: hooksFile, Source: read(hooksFile)}},
		Policies: func(name string) (agent.Policy, error) {
			return agent.Policy{Name: name, Location: tool.Project, Script: tool.Script{Name: name, Path: policyFile, Source: read(policyFile), Libs: agent.PolicyLibs()}}, nil
		},
		Model: script.New("m", false, func(context.Context, value.List, int) (value.Value, error) {
			if !w.up {
				return nil, value.Errorf(value.Unavailable, "no network")
			}
			return "TASK COMPLETE: done", nil
		}),
	}
	for _, d := range w.host.Agents() {
		if d.Name == "helper" {
			o.As = &d
		} else {
			o.Agents = append(o.Agents, d)
		}
	}
	if o.As == nil || len(o.Agents) != 1 {
		w.Fatalf("the agents are %v", w.host.Agents())
	}
	return o
}

// revoke revokes the trust of a file, or of all files for "all".
func (w *reviewedWorld) revoke(name string) {
	w.Helper()
	var err error
	if name == "all" {
		err = w.store.Revoke(w.dir)
	} else if name != "" {
		err = w.store.Revoke(w.dir, name)
	}
	if err != nil {
		w.Fatal(err)
	}
}

// TestAgentsCheckTrust checks that the run of an agent is resumed by a program only as long as nothing that
// it has of the project was revoked, that it stays as it is until then, and that an edit does not matter.
func TestAgentsCheckTrust(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ revoke, edit, untrusted string }{
		"trusted":                  {},
		"edited policy":            {edit: policyFile},
		"edited agent file":        {edit: ".cassidy/agents/helper.md"},
		"policy":                   {revoke: policyFile, untrusted: policyFile},
		"policy, broken":           {revoke: policyFile, edit: policyFile, untrusted: policyFile},
		"hooks":                    {revoke: hooksFile, untrusted: hooksFile},
		"its agent file":           {revoke: ".cassidy/agents/helper.md", untrusted: ".cassidy/agents/helper.md"},
		"agent file that it calls": {revoke: ".claude/agents/other.md", untrusted: ".claude/agents/other.md"},
		"all":                      {revoke: "all", untrusted: policyFile},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, w := context.Background(), newReviewedWorld(t, journal.Memory())
			a, err := agent.New(w.host, w.options())
			if err != nil {
				t.Fatal(err)
			}
			s, err := a.Session(ctx, "s")
			if err != nil {
				t.Fatal(err)
			}
			var parked *cassidy.ParkedError
			if _, err := s.Send(ctx, "Do it"); !errors.As(err, &parked) {
				t.Fatalf("the turn gave %v, want that it waits", err)
			}
			w.up = true
			w.revoke(tt.revoke)
			if tt.edit != "" {
				putFile(t, filepath.Join(w.dir, filepath.FromSlash(tt.edit)), "(")
			}
			for _, resume := range []func() error{
				func() error { _, err := w.host.Resume(ctx, parked.Run); return err },
				func() error { _, err := s.Resume(ctx); return err },
				func() error { _, err := agent.Resume(ctx, w.host, parked.Run); return err },
			} {
				if tt.untrusted == "" {
					if _, err := w.host.Resume(ctx, parked.Run); err != nil {
						t.Error(err)
					}
					return
				}
				if err := resume(); !errors.Is(err, cassidy.ErrDenied) || !strings.Contains(err.Error(), tt.untrusted+" is untrusted") {
					t.Errorf("resumed: %v, want that %s is untrusted", err, tt.untrusted)
				}
			}
			if tt.edit != "" {
				return
			}
			w.review()
			if _, err := w.host.Resume(ctx, parked.Run); err != nil {
				t.Errorf("after the review: %v", err)
			}
		})
	}
}

// TestLoadedSkillsCheckTrust checks that a run is not resumed with the text of a skill whose trust was revoked
// since a model has loaded it, and that a skill that no model has loaded does not matter.
func TestLoadedSkillsCheckTrust(t *testing.T) {
	t.Parallel()
	const file, dep = ".cassidy/skills/helper.md", ".cassidy/skills/dep.md"
	for name, tt := range map[string]struct {
		load         bool
		revoke, edit string
		untrusted    string
	}{
		"trusted":                      {load: true},
		"edited":                       {load: true, edit: file},
		"revoked":                      {load: true, revoke: file, untrusted: file},
		"revoked and edited":           {load: true, revoke: file, edit: file, untrusted: file},
		"a required one revoked":       {load: true, revoke: dep, untrusted: dep},
		"revoked, but it was not used": {revoke: file},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, w := context.Background(), newReviewedWorld(t, journal.Memory())
			putFile(t, filepath.Join(w.dir, file), "---\ndescription: Help.\nauto_invoke: true\nrequires: [dep]\n---\nHelp.\n")
			putFile(t, filepath.Join(w.dir, dep), "---\ndescription: Help.\n---\nHelp.\n")
			w.review()
			scope := &trust.Scope{Trust: w.store}
			if loaded, err := skill.Load(w.dir, scope, "helper"); err != nil || !slices.Equal(loaded.Reviewed, []string{dep, file}) {
				t.Fatalf("the files are %v, %v", loaded.Reviewed, err)
			}
			asked := 0
			o := &agent.Options{
				Tools: []string{}, Skills: []agent.Skill{{Name: "helper", Description: "Help."}},
				LoadSkill: func(name string) (agent.LoadedSkill, error) {
					loaded, err := skill.Load(w.dir, scope, name)
					return agent.LoadedSkill{Text: loaded.Text, Notes: loaded.Notes, Reviewed: loaded.Reviewed}, err
				},
				Model: script.New("m", false, func(context.Context, value.List, int) (value.Value, error) {
					if asked++; asked == 1 && tt.load {
						return "<USE_SKILL>helper</USE_SKILL>", nil
					}
					if !w.up {
						return nil, value.Errorf(value.Unavailable, "no network")
					}
					return "TASK COMPLETE: done", nil
				}),
			}
			a, err := agent.New(w.host, o)
			if err != nil {
				t.Fatal(err)
			}
			var parked *cassidy.ParkedError
			if _, err := a.Run(ctx, "Do it"); !errors.As(err, &parked) {
				t.Fatalf("the run gave %v, want that it waits", err)
			}
			w.up = true
			w.revoke(tt.revoke)
			if tt.edit != "" {
				putFile(t, filepath.Join(w.dir, filepath.FromSlash(tt.edit)), "(")
			}
			_, err = w.host.Resume(ctx, parked.Run)
			if tt.untrusted == "" && err != nil || tt.untrusted != "" && (!errors.Is(err, cassidy.ErrDenied) || !strings.Contains(err.Error(), tt.untrusted+" is untrusted")) {
				t.Errorf("resumed: %v, want that %q is untrusted", err, tt.untrusted)
			}
			if tt.untrusted != "" && tt.edit == "" {
				w.review()
				if _, err := w.host.Resume(ctx, parked.Run); err != nil {
					t.Errorf("after the review: %v", err)
				}
			}
		})
	}
}

// TestLaterTurnsCheckTrust checks that a conversation does not continue with the text of a skill whose trust was revoked since
// an earlier turn has loaded it: in the same session, in a reopened one, after other turns, and in a turn that waits.
func TestLaterTurnsCheckTrust(t *testing.T) {
	t.Parallel()
	const file, dep = ".cassidy/skills/helper.md", ".cassidy/skills/dep.md"
	for name, tt := range map[string]struct {
		noStore, noLoad, use, reopen, between, waits bool
		revoke, edit, untrusted                      string
	}{
		"trusted":                      {},
		"edited":                       {edit: file},
		"revoked":                      {revoke: file, untrusted: file},
		"a required one revoked":       {revoke: dep, untrusted: dep},
		"revoked and edited":           {revoke: file, edit: file, untrusted: file},
		"revoked, but it was not used": {noLoad: true, revoke: file},
		"loaded by the user":           {noLoad: true, use: true, revoke: file, untrusted: file},
		"without a store":              {noStore: true, revoke: file, untrusted: file},
		"reopened":                     {reopen: true, revoke: file, untrusted: file},
		"reopened, loaded by the user": {reopen: true, noLoad: true, use: true, revoke: dep, untrusted: dep},
		"two turns later":              {reopen: true, between: true, revoke: file, untrusted: file},
		"the later turn waits":         {waits: true, revoke: file, untrusted: file},
		"it waits, reopened":           {waits: true, reopen: true, revoke: file, untrusted: file},
		"it waits, edited":             {waits: true, reopen: true, edit: file},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var store journal.Store
			if !tt.noStore {
				store = journal.Memory()
			}
			ctx, w := context.Background(), newReviewedWorld(t, store)
			w.up = true
			putFile(t, filepath.Join(w.dir, file), "---\ndescription: Help.\nauto_invoke: true\nrequires: [dep]\n---\nHelp.\n")
			putFile(t, filepath.Join(w.dir, dep), "---\ndescription: Help.\n---\nHelp.\n")
			w.review()
			scope := &trust.Scope{Trust: w.store}
			asked := 0
			a, err := agent.New(w.host, &agent.Options{
				Tools: []string{}, Skills: []agent.Skill{{Name: "helper", Description: "Help."}},
				LoadSkill: func(name string) (agent.LoadedSkill, error) {
					loaded, err := skill.Load(w.dir, scope, name)
					return agent.LoadedSkill{Text: loaded.Text, Notes: loaded.Notes, Reviewed: loaded.Reviewed}, err
				},
				Model: script.New("m", false, func(context.Context, value.List, int) (value.Value, error) {
					if asked++; asked == 1 && !tt.noLoad {
						return "<USE_SKILL>helper</USE_SKILL>", nil
					}
					if !w.up {
						return nil, value.Errorf(value.Unavailable, "no network")
					}
					return "TASK COMPLETE: done", nil
				}),
			})
			if err != nil {
				t.Fatal(err)
			}
			session := func(id string) *agent.Session {
				s, err := a.Session(ctx, id)
				if err != nil {
					t.Fatal(err)
				}
				return s
			}
			s := session("")
			if tt.use {
				if _, err := s.UseSkill("helper"); err != nil {
					t.Fatal(err)
				}
			}
			turns := 1
			if tt.between {
				turns = 2
			}
			for range turns {
				if _, err := s.Send(ctx, "Do it"); err != nil {
					t.Fatal(err)
				}
			}
			next := func() error { _, err := s.Send(ctx, "Go on"); return err }
			if tt.waits {
				w.up = false
				var parked *cassidy.ParkedError
				if err := next(); !errors.As(err, &parked) {
					t.Fatalf("the turn gave %v, want that it waits", err)
				}
				w.up = true
				next = func() error { _, err := s.Resume(ctx); return err }
			}
			if tt.reopen {
				s = session(s.ID())
			}
			w.revoke(tt.revoke)
			if tt.edit != "" {
				putFile(t, filepath.Join(w.dir, filepath.FromSlash(tt.edit)), "(")
			}
			before := asked
			err = next()
			if tt.untrusted == "" && err != nil || tt.untrusted != "" && (!errors.Is(err, cassidy.ErrDenied) || !strings.Contains(err.Error(), tt.untrusted+" is untrusted")) {
				t.Errorf("the next turn: %v, want that %q is untrusted", err, tt.untrusted)
			}
			if tt.untrusted != "" && asked != before {
				t.Errorf("the model was asked all the same")
			}
			if tt.untrusted != "" && tt.edit == "" {
				w.review()
				if err := next(); err != nil {
					t.Errorf("after the review: %v", err)
				}
			}
		})
	}
}

// TestStartChecksTrust checks that an agent that a program keeps begins no turn after its trust was revoked,
// whether its turns are recorded or not.
func TestStartChecksTrust(t *testing.T) {
	t.Parallel()
	for _, revoke := range []string{"", policyFile, hooksFile, ".cassidy/agents/helper.md", "all"} {
		for _, store := range []journal.Store{journal.Memory(), nil} {
			ctx, w := context.Background(), newReviewedWorld(t, store)
			w.up = true
			a, err := agent.New(w.host, w.options())
			if err == nil {
				_, err = a.Run(ctx, "Do it")
			}
			if err != nil {
				t.Fatal(err)
			}
			w.revoke(revoke)
			if _, err = a.Run(ctx, "Do it"); errors.Is(err, cassidy.ErrDenied) != (revoke != "") {
				t.Errorf("%q revoked: the next turn gave %v", revoke, err)
			}
			if n := 0; revoke != "" && store != nil {
				for range w.host.Runs(ctx, cassidy.RunFilter{}) {
					n++
				}
				if n != 1 {
					t.Errorf("%q revoked: %d runs are recorded, want 1", revoke, n)
				}
			}
		}
	}
}

// TestToolsCheckTrust checks that a durable call is not resumed after the trust of its tool, or of a file that
// the tool loads, was revoked, whatever there is of the files by then.
func TestToolsCheckTrust(t *testing.T) {
	t.Parallel()
	const file, lib = ".cassidy/tools/greet.star", ".cassidy/tools/lib/words.star"
	for name, tt := range map[string]struct {
		revoke string
		change func(path string) error
		denied bool
	}{
		"trusted":             {},
		"edited":              {change: func(path string) error { return os.WriteFile(path, []byte("def"), 0o600) }},
		"removed":             {change: os.Remove},
		"revoked":             {revoke: file, denied: true},
		"revoked and broken":  {revoke: file, change: func(path string) error { return os.WriteFile(path, []byte("def"), 0o600) }, denied: true},
		"revoked and removed": {revoke: file, change: os.Remove, denied: true},
		"library revoked":     {revoke: lib, denied: true},
		"library revoked, and no longer loaded": {revoke: lib, denied: true, change: func(path string) error {
			return os.WriteFile(path, []byte("def greet():\n    \"Greet.\"\n    return 1\n\ntool(greet)\n"), 0o600)
		}},
		"all": {revoke: "all", change: os.Remove, denied: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, w := context.Background(), newReviewedWorld(t, journal.Memory())
			if _, err := w.host.Call(ctx, cassidy.Call{Tool: "greet", Caller: cassidy.ByPerson}, cassidy.Durable("r")); !errors.Is(err, cassidy.ErrParked) {
				t.Fatalf("the call gave %v, want that it waits", err)
			}
			for q := range w.host.Waiting(ctx) {
				if err := w.host.Answer(ctx, q.ID, cassidy.Answer{Yes: true}); err != nil {
					t.Error(err)
				}
			}
			w.revoke(tt.revoke)
			if tt.change != nil {
				if err := tt.change(filepath.Join(w.dir, filepath.FromSlash(file))); err != nil {
					t.Fatal(err)
				}
			}
			_ = w.host.Refresh(ctx)
			switch got, err := w.host.Resume(ctx, "r"); {
			case tt.denied && (!errors.Is(err, cassidy.ErrDenied) || !strings.Contains(err.Error(), "untrusted")):
				t.Errorf("resumed: %v, %v, want that it is untrusted", got.Value, err)
			case !tt.denied && (err != nil || got.Value != "hi"):
				t.Errorf("resumed: %v, %v", got.Value, err)
			}
		})
	}
}
