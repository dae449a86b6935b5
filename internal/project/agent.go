package project

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/internal/agentfile"
	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/internal/trust"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

const (
	agentsDir = "agents"
	// maxAgents is how many agent files of one folder are read. A model chooses by their
	// descriptions, and cannot handle more.
	maxAgents = 200
	// maxAgentText is the limit of all agent files that are used, in bytes: they are recorded with
	// each run.
	maxAgentText = 1 << 20
)

// An Agent is an agent file of a project or of its user.
type Agent struct {
	tool.Agent
	Location tool.Location
	trust.Status
	Warnings []string // what is ignored

	text string // of its file
}

// State returns whether the agent can be used: ready, untrusted or disabled.
func (a *Agent) State() string {
	switch {
	case !a.Trusted:
		return "untrusted"
	case a.Disabled:
		return "disabled"
	}
	return "ready"
}

// At returns the position of a field in the file.
func (a *Agent) At(field string) value.Position {
	return value.Position{File: a.Path, Line: agentfile.Line(a.text, field)}
}

// Usable returns an error if the agent is untrusted or disabled.
func (a *Agent) Usable() error {
	switch {
	case !a.Trusted:
		return trust.Untrusted("the agent '"+a.Name+"'", a.Reason)
	case a.Disabled:
		return value.Errorf(value.Denied, "the agent '%s' is disabled", a.Name).WithHint("remove the field 'disable' from %s", a.Path)
	}
	return nil
}

// Agents reads the agent files of a project and of its user. An invalid file is reported and does
// not affect others. If files of several folders of the project have the same name, the first
// folder counts: .cassidy/agents, .agents/agents, .claude/agents. If two others have the same
// name, neither is used. An empty root means no project.
func Agents(root string, o *trust.Scope) ([]Agent, []*value.Error) {
	var all []Agent
	var broken []*value.Error
	for _, place := range o.Places(root, agentsDir) {
		broken = append(broken, place.ReadFiles(maxAgents, isAgentFile, func(files fs.FS, name string) error {
			a, err := readAgent(place, files, name)
			if err == nil {
				all = append(all, a)
			}
			return err
		})...)
	}
	nameOf := func(a *Agent) trust.Name {
		return trust.Name{Name: a.Name, Path: a.Path, Location: a.Location, Folder: path.Dir(a.Path), Content: a.text, Status: a.Status}
	}
	all, hidden := trust.First("agent", all, nameOf)
	kept, conflicts := trust.Unique("agent", all, nameOf, false)
	kept, large := firstBytes(kept)
	return kept, slices.Concat(broken, hidden, conflicts, large)
}

// firstBytes removes the agents whose files exceed the limit of all texts, and returns their errors.
func firstBytes(all []Agent) (kept []Agent, large []*value.Error) {
	total := 0
	for i := range all {
		a := &all[i]
		if total+len(a.text) > maxAgentText {
			e := value.Errorf(value.Limit, "the agent '%s' is not used: the agent files are longer than %d KB in total", a.Name, maxAgentText>>10).WithHint("shorten or delete agent files")
			e.Pos = value.Position{File: a.Path, Line: 1}
			large = append(large, e)
			continue
		}
		total += len(a.text)
		kept = append(kept, *a)
	}
	return kept, large
}

// isAgentFile reports whether an entry of a folder is expected to be an agent file.
func isAgentFile(e fs.DirEntry) bool {
	name := e.Name()
	return !e.IsDir() && path.Ext(name) == ".md" && !strings.HasPrefix(name, ".") && !strings.EqualFold(name, "README.md")
}

func readAgent(p trust.Place, files fs.FS, name string) (a Agent, err error) {
	text, err := folder.ReadText(files, path.Join(p.Dir, name), agentfile.MaxSize)
	if err != nil {
		return a, err
	}
	a.text, a.Location, a.Status = text, p.Location, p.Status(trust.KindAgent, name, tool.HashBytes([]byte(text)))
	a.Agent, a.Warnings, err = agentfile.Parse(strings.TrimSuffix(name, ".md"), path.Join(p.Shown, name), text)
	return a, err
}

// CheckNewAgent returns an error if a name is invalid, or an agent file with the name exists.
func CheckNewAgent(root string, o *trust.Scope, name string) error {
	if err := tool.CheckName(name); err != nil {
		return value.Errorf(value.Invalid, "invalid name of an agent: %q", value.Clean(name, 2*tool.MaxName)).WithHint("%s", value.ErrorOf(err, value.Invalid).Hint)
	}
	files, _ := Agents(root, o)
	for i := range files {
		if tool.Key(files[i].Name) == tool.Key(name) {
			return value.Errorf(value.Failed, "the agent '%s' already exists: %s", name, files[i].Path).WithHint("use a different name, or edit the file")
		}
	}
	return nil
}

// CreateAgent writes a new agent file, and returns its name in messages. An existing file is an error
// that matches [fs.ErrExist]. Writing a file does not make it trusted.
func CreateAgent(root string, o *trust.Scope, name string, location tool.Location, text string) (shown string, err error) {
	for _, place := range o.Places(root, agentsDir) {
		if place.Location == location && place.Files == nil {
			return path.Join(place.Shown, name+".md"), place.Create(name+".md", text)
		}
	}
	return name + ".md", value.Errorf(value.Invalid, "no folder is configured for %s agents", location).WithHint(`use the location "project" or "personal"`)
}
