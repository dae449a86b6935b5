package page

import (
	"fmt"
	"net/url"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Standing is whether a tool or a workflow can be used.
type Standing string

// The standings.
const (
	Ready       Standing = ""
	Unreviewed  Standing = "unreviewed" // nobody has reviewed it since it changed
	Unavailable Standing = "unavailable"
	Faulty      Standing = "faulty" // its file cannot be read
)

// A Pill is a word about a tool, such as "reads only".
type Pill struct {
	Tone Tone
	Icon Icon // or ""
	Text string
}

// Pills returns the words about what a tool may do, and about its standing.
func Pills(rights []string, s Standing) []Pill {
	var list []Pill
	if len(rights) == 0 {
		list = append(list, Pill{Tone: ToneOff, Text: "reads only"})
	}
	for i, r := range rights {
		if i == 3 && len(rights) > 4 {
			list = append(list, Pill{Tone: ToneWait, Text: fmt.Sprintf("and %d more", len(rights)-3)})
			break
		}
		list = append(list, Pill{Tone: ToneWait, Text: r})
	}
	switch s {
	case Ready:
		return append(list, Pill{ToneOK, "ok", "trusted"})
	case Unreviewed:
		return append(list, Pill{ToneWait, "warn", "not reviewed"})
	case Unavailable:
		return append(list, Pill{ToneOff, "off", "not available"})
	}
	return append(list, Pill{ToneBad, "bad", "faulty"})
}

// RightsOf returns what a tool may do besides reading and computing, for [Pills].
func RightsOf(t *tool.Tool) []string {
	var list []string
	for _, c := range t.Needs {
		if c.Acts() {
			list = append(list, value.Cut(c.InWords(), 48))
		}
	}
	if len(list) == 0 && t.NeedsApproval() {
		list = append(list, "asks before it runs")
	}
	return list
}

// A Catalog is the list of tools, of workflows, or of agents.
type Catalog struct {
	Section Section
	Query   string
	Groups  []CatalogGroup
	Total   int // without the query
	Review  int // how many nobody has reviewed
}

// Title returns the heading of the list.
func (c *Catalog) Title() Literal {
	return map[Section]Literal{SectionTools: "Tools", SectionWorkflows: "Workflows", SectionAgents: "Agents"}[c.Section]
}

// Found returns how many entries are listed.
func (c *Catalog) Found() (n int) {
	for _, g := range c.Groups {
		n += len(g.Rows)
	}
	return n
}

// A CatalogGroup is a group of tools. It has no name if there is only one.
type CatalogGroup struct {
	Name string
	Rows []CatalogRow
}

// A CatalogRow is a tool, a workflow or an agent in a list.
type CatalogRow struct {
	Name  string
	About string
	Pills []Pill
	Why   string // it cannot be used
	Old   bool   // it is deprecated
	Href  URL
}

// A ToolTab is a part of the page of a tool.
type ToolTab string

// The tabs of a tool.
const (
	TabRun    ToolTab = ""
	TabDoc    ToolTab = "doc"
	TabScript ToolTab = "script"
	TabRuns   ToolTab = "runs"
)

// A ToolPage is the page of a tool or a workflow.
type ToolPage struct {
	Section Section // [SectionTools] or [SectionWorkflows]
	Name    string
	In      string // its project, if there are several
	Title   string
	Group   string
	About   string
	Pills   []Pill
	State   Standing
	Reason  string // why it cannot be used
	Review  string // what to type on the server: "cassidy trust monthly_report"
	Tab     ToolTab
	Count   int // of runs, or -1
	Script  *ScriptView

	Form   *FormView
	Result *ResultView // of the latest run, or of the one that was just made
	Latest bool        // the result comes first on a phone, because it was just made
	Doc    *DocView
	Runs   []RunRow
	Older  URL
}

// URL returns the address of the page.
func (p *ToolPage) URL() URL { return p.at("") }

// at returns the address of a tab.
func (p *ToolPage) at(tab ToolTab) URL {
	q := url.Values{}
	if p.In != "" {
		q.Set("project", p.In)
	}
	if tab != TabRun {
		q.Set("tab", string(tab))
	}
	at := URL("/" + string(p.Section) + "/" + url.PathEscape(p.Name))
	if len(q) > 0 {
		at += "?" + URL(q.Encode())
	}
	return at
}

// Tabs returns the parts of the page.
func (p *ToolPage) Tabs() []Tab {
	list := []Tab{{Name: "Run", Href: p.at(TabRun), Count: -1, Current: p.Tab == TabRun}, {Name: "Documentation", Href: p.at(TabDoc), Count: -1, Current: p.Tab == TabDoc}}
	if p.Script != nil {
		list = append(list, Tab{Name: "Script", Href: p.at(TabScript), Count: -1, Current: p.Tab == TabScript})
	}
	list = append(list, Tab{Name: "Runs", Href: p.at(TabRuns), Count: p.Count, Current: p.Tab == TabRuns})
	return list
}

// Back returns the list that the tool is in.
func (p *ToolPage) Back() Link {
	c := Catalog{Section: p.Section}
	return Link{string(c.Title()), URL("/" + string(p.Section))}
}

// Usable reports whether it can be run.
func (p *ToolPage) Usable() bool { return p.State == Ready }

// A ResultView is the end of a run, beside the form that began it.
type ResultView struct {
	Run     string
	Status  Status
	By      string
	At      time.Time
	Took    time.Duration
	Value   *ValueView
	Failure *Failure
	Asks    URL // the question that it waits for
	Again   URL // the form with the same arguments
}

// A ScriptView is the source of a script.
type ScriptView struct {
	Path  string
	Text  string
	Loads []string // other files that it uses
}

// A DocView is the documentation of a tool.
type DocView struct {
	About    string
	Params   []ParamDoc
	Returns  string
	Needs    []string // what it may do, in words
	Examples []ExampleDoc
	Facts    []Fact
}

// A ParamDoc is a parameter.
type ParamDoc struct {
	Name, Type, About, Default string
	Required                   bool
}

// An ExampleDoc is an example of a call.
type ExampleDoc struct{ About, Call string }

// DocOf returns the documentation of a tool, as its author declared it.
func DocOf(t *tool.Tool) *DocView {
	d := &DocView{About: t.Description, Returns: t.ReturnsDoc}
	d.Params = paramsOf(t)
	if t.Returns != nil && d.Returns == "" {
		d.Returns = t.Returns.String()
	}
	for _, c := range t.Needs {
		d.Needs = append(d.Needs, c.InWords())
	}
	for _, e := range t.Examples {
		d.Examples = append(d.Examples, ExampleDoc{e.Description, t.CallText(e.Args)})
	}
	if t.Version != "" {
		d.Facts = append(d.Facts, Fact{Label: "Version", Text: t.Version})
	}
	if t.Deprecated != nil {
		text := t.Deprecated.Message
		if t.Deprecated.Replacement != "" {
			text = "Use " + t.Deprecated.Replacement + ". " + text
		}
		d.Facts = append(d.Facts, Fact{Label: "Deprecated", Text: text})
	}
	return d
}

// paramsOf describes parameters in the words of their form.
func paramsOf(t *tool.Tool) (list []ParamDoc) {
	schema, err := t.ArgsSchema()
	if err != nil {
		return nil
	}
	form := NewForm(schema, time.UTC, time.Time{})
	if form.root == nil {
		return []ParamDoc{{Name: "arguments", Type: "JSON", About: value.Cut(value.FormatJSON(schema, ""), 2000)}}
	}
	for _, f := range form.root.fields {
		p := ParamDoc{Name: f.name, Type: f.typ, About: f.help, Required: f.required}
		if f.hasDefault && f.def != nil {
			p.Default = f.defaultText()
		}
		list = append(list, p)
	}
	return list
}

// An AgentPage is the page of an agent.
type AgentPage struct {
	Name, About  string
	In           string // its project, if there are several
	Facts        []Fact
	Instructions string // in Markdown
	Path         string
	May          bool // the user may chat
	Why          string
	Sessions     []Session
}

// Chat returns where a talk with the agent begins.
func (a *AgentPage) Chat() URL {
	q := url.Values{"agent": {a.Name}}
	if a.In != "" {
		q.Set("project", a.In)
	}
	return "/chat?" + URL(q.Encode())
}
