package serve

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/internal/describe"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/serve/internal/page"
	"github.com/cassidy-run/cassidy/runtime/serve/internal/views"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// chatRoutes are those of talks with agents.
func (s *Server) chatRoutes() []route {
	return []route{
		{pattern: "GET /chat", role: View, page: true, serve: (*request).newChat},
		{pattern: "POST /chat", role: Run, page: true, serve: (*request).beginChat},
		{pattern: "GET /chat/{session}", role: View, page: true, serve: (*request).chatPage},
		{pattern: "POST /chat/{session}", role: Run, page: true, serve: (*request).say},
		{pattern: "GET /live/chat/{session}", role: View, page: true, stream: true, serve: (*request).liveChat},
	}
}

// The bounds of talks.
const (
	chatKind    = "chat"
	turnsShown  = 20   // of a talk
	talksRead   = 1000 // of the newest turns, for the list
	talksListed = 50
	maxMessage  = 250_000 // bytes; an agent refuses longer ones, too
)

// A talk is a session of an agent: the newest turns of it.
type talk struct {
	*project
	id    string
	turns []history.Run // the newest last
	older bool          // there are more before them
	all   []history.Run // the newest first, at most talksRead
	first history.Run   // the first turn, with which it began
}

// talk finds a talk in the projects that the user sees, with the turns before one, or the newest ones.
func (r *request) talk(id, before string) (*talk, error) {
	if id != "" {
		for _, p := range r.projects() {
			t, err := p.talk(r.Context(), id, before)
			if err != nil || t != nil {
				return t, err
			}
		}
	}
	return nil, value.Errorf(value.NotFound, "there is no chat '%s'", value.Clean(id, 80))
}

// talk returns a talk, or nil if the project has none with the ID.
func (p *project) talk(ctx context.Context, id, before string) (*talk, error) {
	t := &talk{project: p, id: id}
	for run, err := range p.Host.Runs(ctx, history.Filter{Project: p.op.Project(), Session: id, Before: before}) {
		if err != nil {
			return nil, err
		}
		if len(t.all) < talksRead {
			t.all = append(t.all, run)
		}
		if t.first = run; len(t.turns) < turnsShown {
			t.turns = append(t.turns, run)
		} else {
			t.older = true
		}
	}
	slices.Reverse(t.turns)
	if len(t.turns) == 0 {
		return nil, nil
	}
	return t, nil
}

// last returns the newest turn.
func (t *talk) last() *history.Run { return &t.turns[len(t.turns)-1] }

// agent returns the name of its agent; "" is the default.
func (t *talk) agent() string { return t.last().Options.Dict("as").Text("name") }

// mayWrite reports whether a user may write in the talk: who began it, and an admin in one of a terminal.
func (t *talk) mayWrite(u *User) bool {
	by := t.first.By()
	return u.Role >= Run && by == u.Name || u.Role == Admin && by == ""
}

// title is what a talk is called in lists: the beginning of its first message.
func talkTitle(first *history.Run) string {
	return cmp.Or(value.Cut(describe.FirstLine(cmp.Or(first.Args.Text("task"), first.Title)), 80), first.ID)
}

// talks returns the newest talks, in lists by their time.
func (r *request) talks(current string) ([]page.Sessions, error) {
	type entry struct {
		page.Session
		at time.Time
	}
	var all []entry
	for _, p := range r.shown() {
		j, err := p.op.Journal()
		if err != nil {
			return nil, err
		}
		at := map[string]int{}
		for run, err := range p.Host.Runs(r.Context(), history.Filter{Project: p.op.Project(), Kind: chatKind, Limit: talksRead}) {
			if err != nil {
				return nil, err
			}
			if run.Session == "" {
				continue
			}
			i, known := at[run.Session]
			if !known {
				i = len(all)
				at[run.Session] = i
				all = append(all, entry{page.Session{ID: run.Session, At: run.Started.In(r.zone()), Current: run.Session == current}, run.Started})
				if !run.State.Ended() {
					status := views.Status(r.Context(), j, &run, r.zone())
					all[i].Status = &status
				}
			}
			all[i].Title = talkTitle(&run) // of the oldest turn, which comes last
		}
	}
	slices.SortStableFunc(all, func(a, b entry) int { return b.at.Compare(a.at) })
	var lists []page.Sessions
	for _, e := range all[:min(len(all), talksListed)] {
		name := since(e.at.In(r.zone()), r.s.now().In(r.zone()))
		if n := len(lists); n == 0 || lists[n-1].Name != name {
			lists = append(lists, page.Sessions{Name: name})
		}
		lists[len(lists)-1].List = append(lists[len(lists)-1].List, e.Session)
	}
	return lists, nil
}

// since says how long ago a day is.
func since(at, now time.Time) string {
	midnight := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
	switch {
	case !at.Before(midnight):
		return "Today"
	case !at.Before(midnight.AddDate(0, 0, -1)):
		return "Yesterday"
	case !at.Before(midnight.AddDate(0, 0, -7)):
		return "The last 7 days"
	}
	return "Earlier"
}

// newChat shows the composer of a talk that has not begun.
func (r *request) newChat() error { return r.showNewChat(http.StatusOK, "", "") }

// showNewChat shows it with what was typed, and why that was not sent.
func (r *request) showNewChat(status int, text, problem string) (err error) {
	q := r.URL.Query()
	c := &page.Chat{Key: agent.NewID(), Text: text, Error: problem}
	if c.Sessions, err = r.talks(""); err != nil {
		return err
	}
	chosen := cmp.Or(r.PostFormValue("agent"), url.Values{"project": {r.chosen()}, "agent": {q.Get("agent")}}.Encode())
	for _, p := range r.shown() {
		if p.Agent == nil {
			continue
		}
		c.May = r.user.Role >= Run
		for _, a := range append([]tool.Agent{{}}, talkers(p)...) {
			if setup := p.noModel(r.Context(), a.Name); setup != "" {
				c.NoModel = setup
				continue
			}
			o := page.Option{Value: url.Values{"project": {p.Name}, "agent": {a.Name}}.Encode(), Name: cmp.Or(a.Name, "the default agent")}
			if len(r.shown()) > 1 {
				o.Name = p.Name + ": " + o.Name
			}
			o.Selected = o.Value == chosen || a.Name != "" && a.Name == q.Get("agent") && r.chosen() == ""
			c.Agents = append(c.Agents, o)
		}
	}
	switch {
	case len(c.Agents) == 1 && c.NoModel == "":
		c.Agents = nil // there is no choice
	case len(c.Agents) > 0:
		c.NoModel = ""
	case c.NoModel == "":
		c.Why = noChat
	}
	if !c.May && c.Why == "" {
		c.Why = r.why("You can view chats. To begin one, the role run is needed.")
	}
	f, err := r.frame("Chat", page.SectionChat)
	if err != nil {
		return err
	}
	return r.pageAs(status, "chat", f, c)
}

// noChat says that nobody can be talked to.
const noChat = "There is no agent to chat with."

// noModel returns what sets up a model for an agent, or "" if it has one. The agent "" is the default.
func (p *project) noModel(ctx context.Context, name string) string {
	own := func(a tool.Agent) bool { return a.Name == name && a.Model != "" }
	if p.NoModel == nil || slices.ContainsFunc(p.Host.Agents(), own) {
		return ""
	}
	return p.NoModel(ctx)
}

// talkers returns the agents that people may talk to.
func talkers(p *project) []tool.Agent {
	return slices.DeleteFunc(slices.Clone(p.Host.Agents()), func(a tool.Agent) bool {
		return a.Disabled || a.Mode == tool.AgentModeSubagent
	})
}

// beginChat begins a talk with a message.
func (r *request) beginChat() error {
	if err := r.parseForm(); err != nil {
		return err
	}
	text := message(r.PostForm)
	if problem := unsendable(text); problem != "" {
		return r.showNewChat(http.StatusBadRequest, value.Cut(text, maxMessage), problem)
	}
	with, _ := url.ParseQuery(r.PostForm.Get("agent")) // of another text, it is the default
	list := slices.DeleteFunc(r.shown(), func(p *project) bool { return p.Agent == nil })
	if name := with.Get("project"); name != "" {
		p, err := r.project(name)
		if err != nil {
			return err
		}
		list = []*project{p}
	}
	if len(list) == 0 || list[0].Agent == nil {
		return value.Errorf(value.Invalid, "there is no agent to chat with")
	}
	p := list[0]
	id, err := r.key()
	if err != nil {
		return err
	}
	if t, err := p.talk(r.Context(), id, ""); err == nil && t == nil { // else the same form came before
		err = r.turn(p, id, with.Get("agent"), text)
		if value.KindOf(err) == value.Invalid {
			return r.showNewChat(http.StatusBadRequest, text, sentence(value.ErrorOf(err, value.Invalid).Message()))
		} else if err != nil {
			return err
		}
	}
	return r.seeOther("/chat/" + url.PathEscape(id) + "#say-in")
}

// message returns the message of a form.
func message(form url.Values) string {
	return strings.ReplaceAll(form.Get("text"), "\r\n", "\n")
}

// unsendable says why a text cannot be sent, or nothing.
func unsendable(text string) string {
	switch {
	case strings.TrimSpace(text) == "":
		return "Write a message first."
	case len(text) > maxMessage:
		return "The message is longer than " + strconv.Itoa(maxMessage/1000) + " KB."
	}
	return ""
}

// turn begins the next turn of a talk, or the first one.
func (r *request) turn(p *project, session, with, text string) error {
	ctx, _, err := r.begins(p)
	if err != nil {
		return err
	}
	id, err := p.begin(ctx, session, with, text)
	if err == nil {
		r.s.feeds.hold(p, id)
	}
	return r.begun(p, Decision{Action: "begin", Run: id}, err)
}

// begin begins a turn of a talk, and returns the ID of its run.
func (p *project) begin(ctx context.Context, session, with, text string) (string, error) {
	a, err := p.Agent(ctx, with)
	if err != nil {
		return "", err
	}
	s, err := a.Session(ctx, session)
	if err != nil {
		return "", err
	}
	return s.Begin(ctx, text)
}

// chatPage shows a talk.
func (r *request) chatPage() error { return r.showChat(http.StatusOK, "", "") }

// showChat shows a talk with what was typed, and why that was not sent.
func (r *request) showChat(status int, text, problem string) error {
	t, err := r.talk(r.PathValue("session"), r.URL.Query().Get("before"))
	if err != nil {
		return err
	}
	c, err := r.chat(t)
	if err != nil {
		return err
	}
	c.Text, c.Error, c.Key = text, problem, agent.NewID()
	if c.Sessions, err = r.talks(t.id); err != nil {
		return err
	}
	for i := range t.turns {
		turn, err := r.readTurn(t, &t.turns[i])
		if err != nil {
			return err
		}
		c.Messages = append(c.Messages, *turn.Asked(r.zone()), *turn.Reply(r.zone()))
	}
	if t.older {
		c.Older = page.URL("/chat/" + url.PathEscape(t.id) + "?before=" + url.QueryEscape(t.turns[0].ID))
	}
	f, err := r.frame(c.Title, page.SectionChat)
	if err != nil {
		return err
	}
	if !r.URL.Query().Has("before") {
		f.Live = page.URL("/live/chat/" + url.PathEscape(t.id))
	}
	return r.pageAs(status, "chat", f, c)
}

// chat returns the view of a talk, without its messages.
func (r *request) chat(t *talk) (*page.Chat, error) {
	last := t.last()
	settings, err := agent.ReadSettings(last.Options)
	if err != nil { // the record is of another version
		settings = agent.Settings{}
	}
	c := &page.Chat{
		ID: t.id, Title: talkTitle(&t.first), Agent: t.agent(), Model: settings.Model, Turn: views.TurnNumber(last.ID),
		Working: !last.State.Ended(), May: t.Agent != nil && t.mayWrite(r.user), Queued: r.s.later.texts(t),
	}
	for i := range t.all {
		sum := r.s.summary(r.Context(), t.project, &t.all[i])
		c.Tokens, c.Cost = c.Tokens+sum.Tokens, c.Cost+sum.Cost
	}
	switch by := t.first.By(); {
	case c.May:
		c.NoModel = t.noModel(r.Context(), t.agent())
	case t.Agent == nil:
		c.Why = noChat
	case r.banner != nil:
		c.Why = r.banner.Strong
	case by == "":
		c.Why = "You can view this chat. It was begun in a terminal."
	default:
		c.Why = "You can view this chat. It is that of " + by + "."
	}
	return c, nil
}

// readTurn reads a turn of a talk.
func (r *request) readTurn(t *talk, run *history.Run) (*views.Turn, error) {
	j, err := t.op.Journal()
	if err != nil {
		return nil, err
	}
	v := &views.Turn{Run: run, Agent: cmp.Or(run.Options.Dict("as").Text("name"), "cassidy"), Status: views.Status(r.Context(), j, run, r.zone())}
	for e, err := range t.op.Steps(r.Context(), run.ID) {
		if err != nil {
			break // the page of the run says what is damaged
		}
		v.Steps = append(v.Steps, e)
	}
	if w := describe.WaitOf(r.Context(), j, run); w != nil {
		v.Asks = w.Questions
	}
	said := arriving{}
	said.add(r.s.feeds.said(t.project, run.ID))
	v.Said = said.shown.String()
	v.Question = func(q *history.Asked) *page.Question { return r.questionInTalk(t.project, run, q) }
	return v, nil
}

// questionInTalk returns the question of a call, or nil if its page has to be opened for it.
func (r *request) questionInTalk(p *project, run *history.Run, q *history.Asked) *page.Question {
	trail, err := r.s.trails.read(r.Context(), p, run.ID, time.Now())
	if err != nil {
		return nil
	}
	v := r.questionView(p, trail, q)
	v.Shorten()
	return v
}

// say sends a message in a talk, or stops the turn that runs.
func (r *request) say() error {
	if err := r.parseForm(); err != nil {
		return err
	}
	t, err := r.talk(r.PathValue("session"), "")
	if err != nil {
		return err
	}
	back := "/chat/" + url.PathEscape(t.id) + "#say-in"
	last := t.last()
	if r.PostForm.Has("stop") {
		if err := r.stop(t, last); err != nil {
			return err
		}
		if text := message(r.PostForm); text != "" && len(text) <= maxMessage { // a browser without script has it nowhere else
			return r.showChat(http.StatusOK, text, "")
		}
		return r.seeOther(back)
	}
	text := message(r.PostForm)
	switch problem := unsendable(text); {
	case !t.mayWrite(r.user):
		return r.refused(t.Name, last.ID, value.Errorf(value.Denied, "the chat '%s' was begun by somebody else", t.id))
	case problem != "":
		return r.showChat(http.StatusBadRequest, value.Cut(text, maxMessage), problem)
	}
	key, err := r.key()
	if err != nil {
		return err
	}
	if !r.s.later.isNew(key, r.s.now()) { // the same form came before
		return r.seeOther(back)
	}
	if !last.State.Ended() {
		if !r.s.later.add(t, laterMessage{r.user.Name, t.agent(), text}) {
			return r.showChat(http.StatusTooManyRequests, text, "Too many messages wait for the end of this turn.")
		}
		go r.s.sendLater(t.project, t.id)
		return r.seeOther(back)
	}
	if err := r.turn(t.project, t.id, t.agent(), text); err != nil {
		return err
	}
	return r.seeOther(back)
}

// stop cancels the turn that runs.
func (r *request) stop(t *talk, last *history.Run) error {
	if !mayAct(r.user, last) {
		return r.refused(t.Name, last.ID, value.Errorf(value.Denied, "the turn was begun by somebody else"))
	}
	if last.State.Ended() {
		return nil
	}
	if err := t.Host.Cancel(context.WithoutCancel(r.Context()), last.ID); err != nil && value.KindOf(err) != value.Conflict {
		return err
	}
	r.decided(Decision{Action: "cancel", Project: t.Name, Run: last.ID})
	return nil
}
