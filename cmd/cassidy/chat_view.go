package main

import (
	"strconv"
	"strings"

	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/ui"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// A chatView shows the turns of a chat to a person: on a terminal the answer as
// it comes, a line for each call, and something that turns while nothing comes.
type chatView struct {
	*command
	run     string
	lines   func(tool.Event)
	spinner *ui.Spinner
	streams bool // the answer is shown as it comes
	whole   bool // nothing that the model says can be a decision
	reply   *replyText
	asked   int  // the iteration of the last request
	midLine bool // of the answer: what is not part of it begins a new one
}

// showChat shows what happens in a turn, until the function that it returns is
// called.
func (c *command) showChat(h *host.Host, s *agent.Session) (v *chatView, stop func()) {
	v = &chatView{
		command: c, run: s.NextRun(), lines: c.runLines(s.NextRun()), spinner: c.NewSpinner(),
		streams: ui.IsTerminal(c.Out) && !c.JSON, whole: len(s.Agent().Tools()) == 0, reply: &replyText{},
	}
	if c.JSON {
		return v, c.showRun(h, s.NextRun())
	}
	stopSpinning := c.screen.Spin(v.spinner)
	unfollow := c.screen.Follow(h, v.show)
	return v, func() {
		unfollow()
		stopSpinning()
		v.endLine()
	}
}

// show shows an event. It holds the screen's lock.
func (v *chatView) show(e tool.Event) {
	own := e.Call == v.run
	isReply := false
	switch d := e.Data.(type) {
	case tool.Text:
		if own {
			v.text(d.Text)
		}
		return
	case tool.ModelReply:
		if isReply = true; !own {
			return
		}
	case tool.RunEnd:
		return
	}
	v.spinner.Erase()
	v.endLine()
	if !isReply || !v.streams {
		v.lines(e)
	}
	v.wait(e, own)
}

// wait says what comes next, where that may take long.
func (v *chatView) wait(e tool.Event, own bool) {
	switch d := e.Data.(type) {
	case tool.ToolOutput, tool.ModelReply:
		v.spinner.Hide() // what was written may end within a line
	case tool.ModelAsk:
		if !own {
			return
		}
		// A second request in one iteration is for the summary with which a
		// conversation is compacted. Nobody reads that as it comes.
		if d.Iteration == v.asked {
			v.reply = nil
			v.spinner.Wait("compacting the conversation")
			return
		}
		v.asked, v.reply = d.Iteration, &replyText{whole: v.whole}
		v.spinner.Wait("thinking")
	case tool.ToolCallStart:
		v.spinner.Wait(e.Tool)
	case tool.ToolCallEnd:
		v.spinner.Wait("working")
	}
}

// text shows a piece of a reply.
func (v *chatView) text(piece string) {
	if !v.streams || v.reply == nil {
		return
	}
	wasHeld := v.reply.held()
	if out := v.reply.add(piece); out != "" {
		v.spinner.Hide()
		v.Print(out)
		v.midLine = true
	}
	if v.reply.held() && !wasHeld {
		v.endLine()
		v.spinner.Wait("deciding")
	}
}

// endLine ends the line of the answer that is being written.
func (v *chatView) endLine() {
	if v.midLine {
		v.Print("\n")
		v.midLine = false
	}
}

// ended shows what a turn came to: what is left of its answer, and why there is
// none.
func (v *chatView) ended(r *agent.Reply) {
	left := *r
	if v.streams && v.reply != nil {
		if left.Text = v.reply.rest(r.Text); v.reply.shown.Len() > 0 {
			left.Text = strings.TrimPrefix(left.Text, "\n") // that line has been ended
		}
		if v.reply.held() && !r.Success() {
			left.Text = "" // a decision, on which the turn ended
		}
	}
	if r.Incomplete() {
		left.Reason = agent.ReasonFinal
	}
	v.printAnswer(&left)
	if v.Verbose || ui.IsTerminal(v.Err) {
		v.listCalls(r.Calls)
	}
	if r.Incomplete() {
		v.Log("Incomplete (max iterations reached)")
		v.Log("hint: --max-iterations N lets the model be asked more often than %s", ui.Times(r.Iterations))
	}
}

// listCalls names the calls of a turn and how each went.
func (v *chatView) listCalls(calls []agent.CallRecord) {
	if len(calls) == 0 || v.Quiet {
		return
	}
	paint := v.PaintOn(v.Err)
	words := make([]string, len(calls))
	for i := range calls {
		mark := paint(ui.Green, "✓")
		if !calls[i].Success {
			mark = paint(ui.Red, "✗")
		}
		words[i] = strconv.Itoa(i+1) + ". " + ui.VisibleLine(calls[i].Action) + " " + mark
	}
	v.LogLine(strings.Join(words, "  "))
}
