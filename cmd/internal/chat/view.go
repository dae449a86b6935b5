package chat

import (
	"io"
	"strconv"
	"strings"

	"github.com/cassidy-run/cassidy/cmd/internal/agents"
	"github.com/cassidy-run/cassidy/cmd/internal/calls"
	"github.com/cassidy-run/cassidy/cmd/internal/draw"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// A chatView shows a turn to a person: on a terminal the answer as it arrives, a line for
// each call, and what is in progress.
type chatView struct {
	*command
	run     string
	lines   func(tool.Event)
	streams bool // the answer is shown as it arrives
	whole   bool // a reply cannot be a decision: there are no tools
	reply   *replyText
	text    draw.Stream
	asked   int // the iteration of the last request
}

// showChat shows the next turn until stop is called.
func (c *command) showChat(h *host.Host, s *agent.Session) (v *chatView, stop func()) {
	whole := len(s.Agent().Tools()) == 0
	v = &chatView{
		command: c, run: s.NextRun(), lines: c.made.Run(s.NextRun()), streams: ui.IsTerminal(c.Out) && !c.JSON,
		whole: whole, reply: &replyText{}, text: draw.Stream{Margin: !whole},
	}
	c.made.Restart()
	if c.JSON {
		return v, calls.ShowRun(c.App, h, s.NextRun(), nil)
	}
	unfollow := calls.Follow(c.App, h, v.show)
	return v, func() {
		unfollow()
		v.endText()
	}
}

// show shows an event. The screen is locked.
func (v *chatView) show(e tool.Event) {
	own := e.Call == v.run
	isReply := false
	switch d := e.Data.(type) {
	case tool.Text:
		if own {
			v.add(d.Text)
		}
		return
	case tool.ModelReply:
		if isReply = true; !own {
			return
		}
	case tool.RunEnd:
		return
	}
	v.endText()
	calls.InProgress(v.App, e)
	if d, again := e.Data.(tool.ModelRetry); again && own {
		if d.Discards && v.reply != nil && v.reply.shown.Len() > 0 {
			v.Alert("the answer broke off; the text above is not a part of it")
		}
		if v.reply != nil {
			v.reply = &replyText{whole: v.whole}
		}
	}
	if isReply && v.streams {
		if v.reply != nil {
			v.made.Said(v.reply.shown.String())
		}
	} else {
		v.lines(e)
	}
	if d, asks := e.Data.(tool.ModelAsk); asks && own {
		// A second request in an iteration asks for the summary of a conversation that
		// is compacted, which is not shown.
		if d.Iteration == v.asked {
			v.reply = nil
			v.waits("compacting the conversation")
			return
		}
		v.asked, v.reply = d.Iteration, &replyText{whole: v.whole}
	}
}

// waits shows what the turn waits for.
func (v *chatView) waits(what string) { v.Live.Begin(v.run+"/model", what, "") }

// add shows a piece of a reply.
func (v *chatView) add(piece string) {
	if !v.streams || v.reply == nil {
		return
	}
	wasHeld := v.reply.held()
	if out := v.reply.add(piece); out != "" {
		v.Live.End(v.run + "/model")
		v.write(out)
	}
	if v.reply.held() && !wasHeld {
		v.endText()
		v.waits("deciding")
	}
}

// write writes text of the model, which is printable.
func (v *chatView) write(text string) {
	if !v.text.Begun() {
		v.made.Begin(calls.TextBlock)
	}
	s := v.ScreenOf(v.Out)
	_, _ = io.WriteString(v.Out, v.text.Add(s, s.Shown(text)))
}

// endText ends the text that is being written.
func (v *chatView) endText() {
	if v.text.Begun() {
		_, _ = io.WriteString(v.Out, v.text.End(v.ScreenOf(v.Out)))
	}
}

// ended shows the rest of the answer, or why the turn has none.
func (v *chatView) ended(r *agent.Reply) {
	left := *r
	if v.streams && v.reply != nil {
		if text := v.reply.rest(r.Text); !v.reply.held() || r.Success() { // else it is the decision with which the turn ended
			v.write(text)
			v.endText()
		}
		left.Text = ""
	}
	capped := r.Reason == agent.ReasonMaxIterations
	if capped {
		left.Reason = agent.ReasonFinal
	}
	agents.PrintAnswer(v.App, &left)
	if v.Verbose && !ui.IsTerminal(v.Err) { // it shows the calls when they end
		v.listCalls(r.Calls)
	}
	if capped {
		v.Alert("Incomplete (max iterations reached)")
		v.Hint("allow more than %s: --max-iterations N", ui.Count(r.Iterations, "request"))
	}
}

// listCalls lists the calls of a turn, and whether they succeeded.
func (v *chatView) listCalls(calls []agent.CallRecord) {
	if len(calls) == 0 || v.Quiet {
		return
	}
	s := v.ScreenOf(v.Err)
	words := make([]string, len(calls))
	for i := range calls {
		mark := s.Mark(draw.Done)
		if !calls[i].Success {
			mark = s.Mark(draw.Failed)
		}
		words[i] = strconv.Itoa(i+1) + ". " + ui.VisibleLine(calls[i].Action) + " " + mark
	}
	v.LogLine(strings.Join(words, "  "))
}
