package serve

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/serve/internal/page"
	"github.com/cassidy-run/cassidy/runtime/serve/internal/views"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// toolRoutes are those of the pages of tools and workflows.
func (s *Server) toolRoutes() []route {
	return []route{
		{pattern: "GET /tools", role: View, page: true, serve: (*request).toolsPage},
		{pattern: "GET /tools/{name}", role: View, page: true, serve: (*request).toolPage},
		{pattern: "POST /tools/{name}", role: View, page: true, body: formBody, serve: (*request).toolForm},
		{pattern: "GET /workflows", role: View, page: true, serve: (*request).workflowsPage},
		{pattern: "GET /workflows/{name}", role: View, page: true, serve: (*request).toolPage},
		{pattern: "POST /workflows/{name}", role: View, page: true, body: formBody, serve: (*request).toolForm},
		{pattern: "GET /live/result/{id}", role: View, page: true, stream: true, serve: (*request).liveResult},
	}
}

// A deed is what a person can run from a page: a tool or a workflow of a project.
type deed struct {
	*project
	section  page.Section
	info     toolset.Info
	workflow *host.Workflow // nil for a tool
}

// deed returns the tool or the workflow that a page is about: the one of the project that the address names, or else
// the first one of that name in the projects that the user looks at.
func (r *request) deed() (*deed, error) {
	section := page.SectionTools
	if strings.HasPrefix(r.URL.Path, "/workflows/") {
		section = page.SectionWorkflows
	}
	return r.deedOf(section, r.PathValue("name"))
}

func (r *request) deedOf(section page.Section, name string) (d *deed, err error) {
	list := r.shown()
	if of := r.URL.Query().Get("project"); of != "" {
		p, err := r.project(of)
		if err != nil {
			return nil, err
		}
		list = []*project{p}
	}
	for _, p := range list {
		if d, err = p.deed(r.Context(), section, name); value.KindOf(err) != value.NotFound {
			return d, err
		}
	}
	if err == nil {
		err = value.Errorf(value.NotFound, "there is no project")
	}
	return nil, err
}

// deed returns a tool or a workflow of the project.
func (p *project) deed(ctx context.Context, section page.Section, name string) (*deed, error) {
	if section == page.SectionTools {
		t, err := p.Host.Tool(name)
		if err != nil {
			return nil, err
		}
		return &deed{project: p, section: section, info: t}, nil
	}
	list, err := p.workflows(ctx)
	if err != nil {
		return nil, err
	}
	for i := range list {
		if list[i].info.Name == name {
			return &list[i], nil
		}
	}
	names := value.Map(list, func(d deed) string { return d.info.Name })
	return nil, value.Errorf(value.NotFound, "there is no workflow %q%s", value.Clean(name, 80), value.DidYouMean(name, names))
}

// workflows returns the workflows of the project.
func (p *project) workflows(ctx context.Context) ([]deed, error) {
	all, err := p.Workflows(ctx)
	if err != nil {
		return nil, err
	}
	return value.Map(all, func(w host.Workflow) deed {
		info := toolset.Info{Tool: w.Tool, Standing: toolset.Standing{Location: tool.Project, Path: w.Script.Path, State: cmp.Or(w.State, toolset.Ready), Reason: w.Reason}}
		return deed{project: p, section: page.SectionWorkflows, info: info, workflow: &w}
	}), nil
}

// standing is whether it can be run.
func (d *deed) standing() page.Standing {
	switch d.info.State {
	case toolset.Untrusted:
		return page.Unreviewed
	case toolset.NotHere:
		return page.Unavailable
	}
	return page.Ready
}

// rights are what it may do, in words. A workflow that declares nothing may call every tool.
func (d *deed) rights() []string {
	if d.workflow != nil && !d.workflow.Declared {
		return []string{"calls every tool"}
	}
	return page.RightsOf(&d.info.Tool)
}

// command runs it in a terminal.
func (d *deed) command() string {
	if d.workflow != nil {
		return "cassidy run " + d.info.Name
	}
	return "cassidy tool run " + d.info.Name
}

// check is its own check of arguments.
func (d *deed) check(args *value.Dict) error {
	_, _, err := d.info.ReadArgs(&tool.Call{Args: args, Caller: tool.ByPerson})
	return err
}

// kind is that of its runs.
func (d *deed) kind() string {
	if d.workflow != nil {
		return host.WorkflowKind
	}
	return host.CallKind
}

// began reports whether a run is one of it.
func (d *deed) began(r *history.Run) bool {
	section, name := deedName(r)
	return section == d.section && tool.Key(name) == tool.Key(d.info.Name)
}

// deedName returns what a run runs, or "" for a run of another kind.
func deedName(r *history.Run) (section page.Section, name string) {
	switch r.Kind {
	case host.CallKind:
		return page.SectionTools, r.Args.Text("tool")
	case host.WorkflowKind:
		return page.SectionWorkflows, r.Options.Text("workflow")
	}
	return "", ""
}

// argsOf returns the arguments with which a run was begun.
func (d *deed) argsOf(r *history.Run) *value.Dict {
	if d.workflow == nil {
		return r.Args.Dict("args").OrEmpty()
	}
	args := &value.Dict{}
	for k, v := range r.Args.All() {
		name, _ := k.(string)
		if p, known := d.info.Param(name); !known || !p.FromHost {
			args.Put(name, v)
		}
	}
	return args
}

// begin begins a run of it, and returns the ID.
func (d *deed) begin(r *request, args *value.Dict) (string, error) {
	if d.workflow != nil {
		return r.begin(d.project, d.info.Name, args)
	}
	c, err := r.beginCall(d.project, d.info.Name, args)
	d.jobs.leave(c.run, c.next)
	return c.run, err
}

// url returns the address of its page with a query, given as names and values.
func (d *deed) url(r *request, query ...string) page.URL {
	q := url.Values{}
	if in := r.several(d.project); in != "" {
		q.Set("project", in)
	}
	for i := 0; i < len(query); i += 2 {
		q.Set(query[i], query[i+1])
	}
	at := "/" + string(d.section) + "/" + url.PathEscape(d.info.Name)
	if len(q) > 0 {
		at += "?" + q.Encode()
	}
	return page.URL(at)
}

// toolsPage lists the tools of the projects that the user looks at.
func (r *request) toolsPage() error {
	var all []deed
	for _, p := range r.shown() {
		for _, t := range p.Host.Tools() {
			all = append(all, deed{project: p, section: page.SectionTools, info: t})
		}
	}
	return r.catalog("Tools", page.SectionTools, all)
}

// workflowsPage lists the workflows of the projects that the user looks at.
func (r *request) workflowsPage() error {
	var all []deed
	for _, p := range r.shown() {
		list, err := p.workflows(r.Context())
		if err != nil {
			return err
		}
		all = append(all, list...)
	}
	return r.catalog("Workflows", page.SectionWorkflows, all)
}

// catalog answers with a list of tools or workflows: those that the query finds, in their groups.
func (r *request) catalog(title string, section page.Section, all []deed) error {
	f, err := r.frame(title, section)
	if err != nil {
		return err
	}
	c := &page.Catalog{Section: section, Query: r.URL.Query().Get("q"), Total: len(all)}
	var groups []string
	rows := map[string][]page.CatalogRow{}
	for i := range all {
		d := &all[i]
		if d.standing() == page.Unreviewed {
			c.Review++
		}
		if !finds(c.Query, d.info.Name, d.info.Title, d.info.Description, d.info.Group) {
			continue
		}
		group := d.group(r)
		if rows[group] == nil {
			groups = append(groups, group)
		}
		rows[group] = append(rows[group], d.row(r))
	}
	slices.Sort(groups)
	for _, name := range groups {
		slices.SortStableFunc(rows[name], func(a, b page.CatalogRow) int { return strings.Compare(a.Name, b.Name) })
		c.Groups = append(c.Groups, page.CatalogGroup{Name: name, Rows: rows[name]})
	}
	if len(c.Groups) == 1 {
		c.Groups[0].Name = ""
	}
	return r.page("catalog", f, c)
}

// group is the heading below which a list has it.
func (d *deed) group(r *request) string {
	var words []string
	if len(r.shown()) > 1 {
		words = append(words, d.Name)
	}
	if d.workflow == nil {
		words = append(words, d.info.DisplayGroup())
	}
	return strings.Join(words, " · ")
}

// row is its line in a list.
func (d *deed) row(r *request) page.CatalogRow {
	row := page.CatalogRow{Name: d.info.Name, About: d.info.Summary(), Pills: page.Pills(d.rights(), d.standing()), Old: d.info.Deprecated != nil, Href: d.url(r)}
	if d.standing() == page.Unavailable {
		row.Why = d.info.Reason
	}
	return row
}

// finds reports whether each word of a search is in one of some texts.
func finds(query string, texts ...string) bool {
	all := strings.ToLower(strings.Join(texts, "\n"))
	for word := range strings.FieldsSeq(strings.ToLower(query)) {
		if !strings.Contains(all, word) {
			return false
		}
	}
	return true
}

// toolPage shows a tool or a workflow: its form beside a result, its documentation, its script or its runs.
func (r *request) toolPage() error {
	d, err := r.deed()
	if err != nil {
		return err
	}
	v, err := d.view(r)
	if err != nil {
		return err
	}
	f, err := r.frame(d.info.Name, d.section)
	if err != nil {
		return err
	}
	switch v.Tab {
	case page.TabDoc:
		v.Doc = page.DocOf(&d.info.Tool)
	case page.TabScript:
	case page.TabRuns:
		err = d.listRuns(r, v)
	default:
		err = d.fill(r, f, v)
	}
	if err != nil {
		return err
	}
	return r.page("tool", f, v)
}

// view returns what all tabs of its page have.
func (d *deed) view(r *request) (*page.ToolPage, error) {
	t := &d.info.Tool
	v := &page.ToolPage{
		Section: d.section, Name: t.Name, In: r.several(d.project), Title: t.DisplayTitle(), Group: t.Group, About: t.Summary(),
		Pills: page.Pills(d.rights(), d.standing()), State: d.standing(), Reason: d.info.Reason, Count: -1,
	}
	if d.workflow != nil {
		v.Group = ""
	}
	if strings.EqualFold(strings.ReplaceAll(v.Title, " ", "_"), strings.ReplaceAll(v.Name, "-", "_")) {
		v.Title = "" // it says no more than the name
	}
	if v.State == page.Unreviewed {
		v.Review = "cassidy trust " + t.Name
	}
	if tab := page.ToolTab(r.URL.Query().Get("tab")); slices.Contains([]page.ToolTab{page.TabDoc, page.TabScript, page.TabRuns}, tab) {
		v.Tab = tab
	}
	s, err := d.source(r.Context())
	if err != nil || s == nil {
		return v, err
	}
	v.Script = &page.ScriptView{Path: s.Path}
	for name := range s.Libs {
		v.Script.Loads = append(v.Script.Loads, name)
	}
	slices.Sort(v.Script.Loads)
	if v.Tab == page.TabScript {
		v.Script.Text = value.Cut(s.Source, maxScript)
	}
	return v, nil
}

// maxScript is how much of a script a page shows, in bytes.
const maxScript = 200_000

// source returns its script, or nil if there is none to show.
func (d *deed) source(ctx context.Context) (*tool.Script, error) {
	if d.workflow != nil {
		return &d.workflow.Script, nil
	}
	if d.Source == nil {
		return nil, nil
	}
	s, err := d.Source(ctx, &d.info)
	if value.KindOf(err) == value.NotFound {
		return nil, nil
	}
	return &s, err
}

// runsRead is how many of the newest runs of a kind a page looks through.
const runsRead = 1000

// runs returns the newest runs of it that began before another one: at most so many.
func (d *deed) runs(ctx context.Context, before string, most int) (list []history.Run, more bool, err error) {
	read := 0
	for run, err := range d.Host.Runs(ctx, history.Filter{Project: d.op.Project(), Kind: d.kind(), Before: before, Limit: runsRead}) {
		if err != nil {
			return list, false, err
		}
		read++
		if !d.began(&run) {
			continue
		}
		if len(list) == most {
			return list, true, nil
		}
		list = append(list, run)
	}
	return list, false, nil
}

// listRuns fills the tab with its runs.
func (d *deed) listRuns(r *request, v *page.ToolPage) error {
	list, more, err := d.runs(r.Context(), r.URL.Query().Get("before"), listed)
	if err != nil {
		return err
	}
	j, err := d.op.Journal()
	if err != nil {
		return err
	}
	for i := range list {
		v.Runs = append(v.Runs, views.Row(&list[i], views.Summarize(r.Context(), j, &list[i]), d.undone.has(r.Context(), d.project, list[i].ID), r.zone()))
	}
	if more {
		v.Older = d.url(r, "tab", string(page.TabRuns), "before", list[len(list)-1].ID)
	}
	return nil
}

// fill fills the first tab of its page: the form, and the result of the run that the address names, or else of the
// latest one.
func (d *deed) fill(r *request, f *page.Frame, v *page.ToolPage) error {
	q := r.URL.Query()
	named := cmp.Or(q.Get("run"), q.Get("from"))
	var run *history.Run
	if named != "" {
		p, found, err := r.run(named)
		if err != nil {
			return err
		}
		if p == d.project && d.began(found) {
			run = found
		}
	}
	var filled *page.Submission
	form, err := d.form(r)
	if err != nil {
		return err
	}
	if run != nil {
		filled = form.Fill(form.Filled(d.argsOf(run)))
	}
	if v.Usable() {
		v.Form = d.formView(r)
		form.Show(v.Form, filled)
	}
	if run == nil {
		list, _, err := d.runs(r.Context(), "", 1)
		if err != nil {
			return err
		}
		if len(list) > 0 {
			run = &list[0]
		}
	}
	if run == nil {
		return nil
	}
	v.Latest = q.Get("run") == run.ID
	v.Result, err = d.result(r, run, q)
	if err == nil && !run.State.Ended() {
		f.Live = page.URL("/live/result/" + url.PathEscape(run.ID))
	}
	return err
}

// form returns the form of its arguments.
func (d *deed) form(r *request) (*page.Form, error) {
	schema, err := d.info.ArgsSchema()
	if err != nil {
		return nil, err
	}
	return page.NewForm(schema, r.zone(), r.s.now()), nil
}

// formView returns the view of its form, without the fields.
func (d *deed) formView(r *request) *page.FormView {
	v := &page.FormView{Action: d.url(r), Key: agent.NewID(), Deed: "Run " + d.info.Name, Command: d.command(), Can: r.user.Role >= Run, Quick: len(d.rights()) == 0}
	if !v.Can {
		v.Why = r.why("You can view this. To run it, the role run is needed.")
	}
	for _, c := range d.info.Needs {
		if c.Name != "secret" || c.Target == "" {
			continue
		}
		name, at, _ := strings.Cut(c.Target, "@")
		s := page.Secret{Name: name, Host: at, How: "cassidy secret set " + name}
		if d.HasSecret == nil || d.HasSecret(r.Context(), name) {
			s.Set, s.How = d.HasSecret != nil, ""
		}
		v.Secrets = append(v.Secrets, s)
	}
	return v
}

// toolForm reads the form of a tool or a workflow. It begins a run and leads to the result, or shows the form again:
// with its errors, or with what a button has changed.
func (r *request) toolForm() error {
	d, err := r.deed()
	if err != nil {
		return err
	}
	in, err := r.input()
	if err != nil {
		return err
	}
	form, err := d.form(r)
	if err != nil {
		return err
	}
	s := form.Submit(in, d.check)
	if s.Run && r.user.Role < Run {
		return r.refused(d.Name, "", value.Errorf(value.Denied, "the user '%s' with the role %s may not run this: it needs the role %s", r.user.Name, r.user.Role, Run))
	}
	if !s.Run {
		return d.again(r, form, s, "")
	}
	id, err := d.begin(r, s.Args)
	switch kind := value.KindOf(err); {
	case kind == value.Conflict:
		return d.again(r, form, s, "This form was sent already, with other arguments. Run it again to run it with these.")
	case kind == value.Invalid:
		return d.again(r, form, s, sentence(value.ErrorOf(err, value.Invalid).Message()))
	case err != nil:
		return err
	}
	wait, cancel := context.WithTimeout(r.Context(), formWait)
	defer cancel()
	r.ended(wait, d.project, id)
	return r.seeOther(string(d.url(r, "run", id)) + "#result")
}

// formWait is how long a browser waits for the end of a run that its form has begun. Then the page follows it.
const formWait = time.Second

// again shows the form again. A problem is why the arguments were not taken.
func (d *deed) again(r *request, form *page.Form, s *page.Submission, problem string) error {
	v, err := d.view(r)
	if err != nil {
		return err
	}
	f, err := r.frame(d.info.Name, d.section)
	if err != nil {
		return err
	}
	v.Form, v.Tab = d.formView(r), page.TabRun
	fresh := v.Form.Key
	form.Show(v.Form, s)
	if problem != "" {
		v.Form.Key, v.Form.Errors = fresh, append(v.Form.Errors, page.FieldError{Text: problem})
	}
	status := http.StatusOK
	if len(v.Form.Errors) > 0 {
		status = http.StatusBadRequest
	}
	return r.pageAs(status, "tool", f, v)
}
