package agent

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/agent/internal/prompt"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// An OverheadReport says what offering tools costs of a conversation, in
// estimated tokens.
type OverheadReport struct {
	Base    int // the instructions around the tools
	Tools   []ToolOverhead
	Results int // of the results in the conversation, where they were counted
	Total   int
	Limit   int // of the conversation
}

// A ToolOverhead is what one tool costs, in tokens.
type ToolOverhead struct {
	Name   string
	Tokens int
}

// Overhead reports what offering tools costs of a conversation with a limit in
// tokens; 0 means 200,000. A tool of which only the name is known counts as an
// unknown one.
func Overhead(tools []tool.Tool, limit int) OverheadReport {
	r := OverheadReport{Base: tool.BaseOverhead, Total: tool.BaseOverhead, Limit: cmp.Or(limit, tool.TokenLimit)}
	for i := range tools {
		n := tool.UnknownOverhead
		if t := &tools[i]; t.Overhead > 0 || !prompt.Undocumented(t) {
			n = t.EstimateOverhead()
		}
		r.Tools = append(r.Tools, ToolOverhead{tools[i].Name, n})
		r.Total += n
	}
	return r
}

// WithResults returns the report with the results of tools in a conversation.
func (r OverheadReport) WithResults(messages []model.Message) OverheadReport {
	r.Total -= r.Results
	r.Results = 0
	for _, m := range messages {
		text := m.Role == model.User && (strings.HasPrefix(m.Text, "RESULT (") || strings.HasPrefix(m.Text, "ERROR ("))
		if m.Role == model.ToolRole || text {
			r.Results += tool.EstimateTokens(m.Text)
		}
	}
	r.Total += r.Results
	return r
}

// Percent returns the total as a share of the limit in percent, to one decimal.
func (r OverheadReport) Percent() float64 {
	return float64(int(1000*float64(r.Total)/float64(r.Limit)+0.5)) / 10
}

// Warning returns a warning for the user where the tools take more than a tenth
// of the limit, else "".
func (r OverheadReport) Warning() string {
	if 10*r.Total <= r.Limit {
		return ""
	}
	return fmt.Sprintf("the tools take about %s tokens, more than 10%% of the limit; offer fewer with a group or a preset", withCommas(r.Total))
}

// String returns the report as a table for people.
func (r OverheadReport) String() string {
	rows := append([]ToolOverhead{{"base", r.Base}}, r.Tools...)
	if r.Results > 0 {
		rows = append(rows, ToolOverhead{"results", r.Results})
	}
	width := len("total")
	for _, row := range rows {
		width = max(width, len(row.Name))
	}
	var b strings.Builder
	for _, row := range rows {
		fmt.Fprintf(&b, "%-*s  %7s tokens\n", width, row.Name, withCommas(row.Tokens))
	}
	fmt.Fprintf(&b, "%-*s  %7s tokens (%.1f%% of %s token limit)\n", width, "total", withCommas(r.Total), r.Percent(), shortLimit(r.Limit))
	return b.String()
}

// shortLimit writes a limit as in 200k.
func shortLimit(n int) string {
	if n%1000 == 0 {
		return fmt.Sprintf("%dk", n/1000)
	}
	return withCommas(n)
}
