package chat

import (
	"io"
	"strconv"
	"strings"

	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/agents"
	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/calls"
	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/ui"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// A chatView shows a turn to a person: on a terminal the answer as it arrives, a line for
// each call, and a spinner.
type chatView struct {
	*command
	run     string
	lines   func(tool.Event)
	spinner *ui.Spinner
	streams bool // the answer is shown as it arrives
	whole   bool // a reply cannot be a decision: there are no tools
	reply   *replyText
	asked   int  // the iteration of the last request
	midLine bool // the answer has an unfinished line on the terminal
}

// showChat shows the next turn until stop is called.
func (c *command) showChat(h *host.Host, s *agent.Session) (v *chatView, stop func()) {
	v = &chatView{
		command: c, run: s.NextRun(), lines: calls.RunLines(c.App, s.NextRun()), spinner: c.NewSpinner(),
		streams: ui.IsTerminal(c.Out) && !c.JSON, whole: len(s.Agent().Tools()) == 0, reply: &replyText{},
	}
	if c.JSON {
		return v, calls.ShowRun(c.App, h, s.NextRun(), nil)
	}
	stopSpinning := c.Screen.Spin(v.spinner)
	unfollow := c.Screen.Follow(h, v.show)
	return v, func() {
		unfollow()
		stopSpinning()
		v.endLine()
	}
}

// show shows an event. The screen is locked.
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
	if d, again := e.Data.(tool.ModelRetry); again && own {
		if d.Discards && v.reply != nil && v.reply.shown.Len() > 0 {
			v.Alert("the answer broke off; the text above is not a part of it")
		}
		if v.reply != nil {
			v.reply = &replyText{whole: v.whole}
		}
	}
	if !isReply || !v.streams {
		v.lines(e)
	}
	v.wait(e, own)
}

// wait shows what the turn waits for, if that may take long.
func (v *chatView) wait(e tool.Event, own bool) {
	switch d := e.Data.(type) {
	case tool.ToolOutput, tool.ModelReply:
		v.spinner.Hide() // the line may be unfinished
	case tool.ModelAsk:
		if !own {
			return
		}
		// A second request in an iteration asks for the summary of a conversation that
		// is compacted, which is not shown.
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
		_, _ = io.WriteString(v.Out, out) // it is printable
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

// ended shows the rest of the answer, or why the turn has none.
func (v *chatView) ended(r *agent.Reply) {
	left := *r
	if v.streams && v.reply != nil {
		if left.Text = v.reply.rest(r.Text); v.reply.shown.Len() > 0 {
			left.Text = strings.TrimPrefix(left.Text, "\n") // endLine has written it
		}
		if v.reply.held() && !r.Success() {
			left.Text = "" // the decision with which the turn ended
		}
	}
	if r.Incomplete() {
		left.Reason = agent.ReasonFinal
	}
	agents.PrintAnswer(v.App, &left)
	if v.Verbose || ui.IsTerminal(v.Err) {
		v.listCalls(r.Calls)
	}
	if r.Incomplete() {
		v.Alert("Incomplete (max iterations reached)")
		v.Hint("allow more than %s: --max-iterations N", ui.Count(r.Iterations, "request"))
	}
}

// listCalls lists the calls of a turn, and whether they succeeded.
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
