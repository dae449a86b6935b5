package serve

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/serve/internal/page"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// agentRoutes are those of the pages of agents.
func (s *Server) agentRoutes() []route {
	return []route{
		{pattern: "GET /agents", role: View, page: true, serve: (*request).agentsPage},
		{pattern: "GET /agents/{name}", role: View, page: true, serve: (*request).agentPage},
	}
}

// agentsPage lists the agents of the projects that the user looks at.
func (r *request) agentsPage() error {
	f, err := r.frame("Agents", page.SectionAgents)
	if err != nil {
		return err
	}
	c := &page.Catalog{Section: page.SectionAgents, Query: r.URL.Query().Get("q")}
	for _, p := range r.shown() {
		group := page.CatalogGroup{}
		if len(r.shown()) > 1 {
			group.Name = p.Name
		}
		for _, a := range p.Host.Agents() {
			if c.Total++; !finds(c.Query, a.Name, a.Description) {
				continue
			}
			row := page.CatalogRow{Name: a.Name, About: a.Description, Href: page.URL("/agents/" + url.PathEscape(a.Name) + r.projectQuery(p))}
			switch {
			case a.Disabled:
				row.Why = "It is disabled."
			case a.Mode == tool.AgentModeSubagent:
				row.Pills = []page.Pill{{Tone: page.ToneOff, Text: "for other agents"}}
			}
			group.Rows = append(group.Rows, row)
		}
		if len(group.Rows) > 0 {
			c.Groups = append(c.Groups, group)
		}
	}
	return r.page("catalog", f, c)
}

// several returns the name of a project, if the user sees several.
func (r *request) several(p *project) string {
	if len(r.projects()) > 1 {
		return p.Name
	}
	return ""
}

// projectQuery names a project in an address, if the user sees several.
func (r *request) projectQuery(p *project) string {
	if r.several(p) == "" {
		return ""
	}
	return "?project=" + url.QueryEscape(p.Name)
}

// agentPage shows an agent: what defines it, and the talks with it.
func (r *request) agentPage() error {
	name := r.PathValue("name")
	for _, p := range r.shown() {
		list := p.Host.Agents()
		if i := slices.IndexFunc(list, func(a tool.Agent) bool { return a.Name == name }); i >= 0 {
			return r.showAgent(p, &list[i])
		}
	}
	return value.Errorf(value.NotFound, "there is no agent %q", value.Clean(name, 80))
}

func (r *request) showAgent(p *project, a *tool.Agent) error {
	f, err := r.frame(a.Name, page.SectionAgents)
	if err != nil {
		return err
	}
	v := &page.AgentPage{Name: a.Name, In: r.several(p), About: a.Description, Instructions: a.Prompt, Path: a.Path, Facts: agentFacts(a)}
	switch {
	case a.Disabled:
		v.Why = "This agent is disabled."
	case a.Mode == tool.AgentModeSubagent:
		v.Why = "Only other agents may call this one."
	case p.Agent == nil:
		v.Why = noChat
	default:
		if v.May = r.user.Role >= Run; p.noModel(r.Context(), a.Name) != "" {
			v.May, v.Why = false, "No model is set up. On the server, type "+p.noModel(r.Context(), a.Name)+"."
		}
	}
	for run, err := range p.Host.Runs(r.Context(), history.Filter{Project: p.op.Project(), Kind: chatKind, Limit: talksRead}) {
		if err != nil {
			return err
		}
		known := slices.ContainsFunc(v.Sessions, func(s page.Session) bool { return s.ID == run.Session })
		if run.Options.Dict("as").Text("name") == a.Name && run.Session != "" && !known && len(v.Sessions) < talksListed {
			v.Sessions = append(v.Sessions, page.Session{ID: run.Session, Title: talkTitle(&run), At: run.Started.In(r.zone())})
		}
	}
	return r.page("agent", f, v)
}

// agentFacts are what an agent is set to.
func agentFacts(a *tool.Agent) (list []page.Fact) {
	add := func(label, text string) {
		if text != "" {
			list = append(list, page.Fact{Label: label, Text: text})
		}
	}
	add("Model", a.Model)
	add("Effort", a.Effort)
	add("Policy", a.Policy)
	switch {
	case a.Tools == nil:
		add("Tools", "all of the project")
	case len(a.Tools) == 0:
		add("Tools", "none")
	default:
		add("Tools", strings.Join(a.Tools, ", "))
	}
	add("Without", strings.Join(a.Without, ", "))
	for _, rule := range a.Rules {
		add("Rule", rule.String())
	}
	if a.Iterations > 0 {
		add("Replies", "at most "+strconv.Itoa(a.Iterations)+" in a turn")
	}
	return list
}
