package serve

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/serve/internal/page"
	"github.com/cassidy-run/cassidy/runtime/serve/internal/views"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// A liveTalk is a talk as the page of a client has it.
type liveTalk struct {
	*live
	talk  *talk
	run   string // of the newest turn on the page
	html  string // of its reply
	state page.Status
	said  arriving
	begun bool // something was sent before
}

// liveChat streams the newest turn of a talk, and those that follow it.
func (r *request) liveChat() error {
	t, err := r.talk(r.PathValue("session"), "")
	if err != nil {
		return err
	}
	return r.live(func(l *live) error {
		after, err := strconv.Atoi(r.URL.Query().Get("after"))
		if number := views.TurnNumber(t.last().ID); err == nil && number > after+1 {
			if err := l.resync(strconv.Itoa(number)); err != nil { // the page misses more than one turn
				return err
			}
		}
		ctx, stop := context.WithCancel(r.Context())
		defer stop()
		glances := make(chan glance)
		go r.s.glanceTalk(ctx, t.project, t.id, glances)
		v := &liveTalk{live: l, talk: t}
		return each(l, glances, v.look)
	})
}

// glanceTalk sends when to look at the newest turn of a talk.
func (s *Server) glanceTalk(ctx context.Context, p *project, session string, to chan<- glance) {
	defer close(to)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for seen := ""; ; {
		if last, err := p.op.LastTurn(ctx, session); err == nil && last.ID != seen {
			seen = last.ID
			run := make(chan glance)
			go s.glance(ctx, p, seen, run)
			for g := range run {
				select {
				case to <- g:
				case <-ctx.Done():
				}
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// look sends what has changed.
func (v *liveTalk) look(g glance) error {
	if g.run != v.run {
		v.run, v.html, v.state, v.said = g.run, "", page.Status{}, arriving{}
		v.said.add(g.said)
	}
	own := g.event.Call == g.run
	switch e := g.event.Data.(type) {
	case nil, tool.RunStart, tool.RunEnd, tool.Decided, tool.ToolCallStart, tool.ToolCallEnd:
	case tool.ModelAsk, tool.ModelReply, tool.ModelRetry:
		if own {
			v.said = arriving{}
		}
	case tool.Text:
		if text := v.said.add(e.Text); own && text != "" {
			return v.text(string(views.ReplyID(g.run)), text, "")
		}
		return nil
	default:
		return nil
	}
	_, run, err := v.r.run(g.run)
	if err != nil {
		return err
	}
	return v.show(run)
}

// show sends a turn as it is now.
func (v *liveTalk) show(run *history.Run) error {
	turn, err := v.r.readTurn(v.talk, run)
	if err != nil {
		return err
	}
	id := strconv.Itoa(views.TurnNumber(run.ID))
	if v.html == "" {
		if err := v.part("message", turn.Asked(v.r.zone()), ""); err != nil {
			return err
		}
	}
	if !run.State.Ended() { // as the page has it
		turn.Said = v.said.shown.String()
	}
	reply := turn.Reply(v.r.zone())
	html, err := v.r.s.pages.RenderPart("message", reply)
	if err != nil || html == v.html {
		return err
	}
	v.html = html
	if err := v.send("part", id, html); err != nil || turn.Status == v.state {
		return err
	}
	v.state = turn.Status
	return v.turned(turn, run)
}

// turned sends what else has changed with the state of the newest turn.
func (v *liveTalk) turned(turn *views.Turn, run *history.Run) error {
	t, err := v.r.talk(v.talk.id, "")
	if err != nil {
		return err
	}
	c, err := v.r.chat(t)
	if err != nil {
		return err
	}
	text := ""
	switch {
	case run.State.Ended():
		text = turn.Agent + " has answered"
	case v.state.State == page.Waiting:
		text = turn.Agent + " waits for an answer"
	}
	if !v.begun {
		v.begun, text = true, ""
	}
	err = v.part("chat-facts", c, "")
	if err == nil && c.May {
		err = v.part("chat-buttons", c, "")
	}
	if err == nil && text != "" {
		err = v.say(text)
	}
	return err
}

// arriving is the text of a reply that arrives: what people see of it. A line that begins like a decision is held back,
// with all that follows, since a model that has no calls of its own writes them into its text.
type arriving struct {
	line  string // the beginning of a line of which nobody knows what it is
	begun bool   // in a line that is shown
	held  bool
	shown strings.Builder
}

// decisions are how lines begin that are no text for people.
var decisionMarks = []string{"{", "<TOOL", "```", "TASK COMPLETE", "**TASK COMPLETE"}

// add adds a piece of the reply, and returns what is to be shown of it.
func (a *arriving) add(piece string) string {
	before := a.shown.Len()
	for part := range strings.Lines(piece) {
		if a.held {
			break
		}
		if !a.begun {
			a.line += part
			begin := strings.TrimLeft(a.line, " \t")
			switch is, may := marked(begin); {
			case is:
				a.held = true
				continue
			case may && !strings.HasSuffix(part, "\n"):
				continue
			}
			part, a.line, a.begun = a.line, "", true
		}
		a.shown.WriteString(part)
		a.begun = !strings.HasSuffix(part, "\n")
	}
	if a.shown.Len() > maxSaid {
		a.held = true
	}
	return a.shown.String()[before:]
}

// marked reports whether a line begins like a decision, or may do so with its next characters.
func marked(line string) (is, may bool) {
	for _, m := range decisionMarks {
		is = is || strings.HasPrefix(line, m)
		may = may || strings.HasPrefix(m, line)
	}
	return is, may
}
