package prompt

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/agent/internal/prose"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// An OverheadReport lists how many tokens of a conversation the tools use, as estimated.
type OverheadReport struct {
	Base  int // the instructions around the tools
	Tools []ToolOverhead
	Total int
	Limit int // of the conversation
}

// A ToolOverhead is the number of tokens of one tool.
type ToolOverhead struct {
	Name   string
	Tokens int
}

// Overhead returns the report for tools in a conversation with a limit in tokens; 0 means
// 200,000. A tool of which only the name is known has the overhead of an unknown tool.
func Overhead(tools []tool.Tool, limit int) OverheadReport {
	r := OverheadReport{Base: tool.BaseOverhead, Total: tool.BaseOverhead, Limit: cmp.Or(limit, tool.TokenLimit)}
	for i := range tools {
		n := tool.UnknownOverhead
		if t := &tools[i]; t.Overhead > 0 || !Undocumented(t) {
			n = t.EstimateOverhead()
		}
		r.Tools = append(r.Tools, ToolOverhead{tools[i].Name, n})
		r.Total += n
	}
	return r
}

// Percent returns the total as a share of the limit in percent, to one decimal.
func (r OverheadReport) Percent() float64 {
	return float64(int(1000*float64(r.Total)/float64(r.Limit)+0.5)) / 10
}

// Warning returns a warning for the user if the tools use more than 10% of the limit, else "".
func (r OverheadReport) Warning() string {
	if 10*r.Total <= r.Limit {
		return ""
	}
	return fmt.Sprintf("the tools take about %s tokens, more than 10%% of the limit; select fewer with a group or a preset", prose.WithCommas(r.Total))
}

// String returns the report as a table for people.
func (r OverheadReport) String() string {
	rows := append([]ToolOverhead{{"base", r.Base}}, r.Tools...)
	width := len("total")
	for _, row := range rows {
		width = max(width, len(row.Name))
	}
	var b strings.Builder
	for _, row := range rows {
		fmt.Fprintf(&b, "%-*s  %7s tokens\n", width, row.Name, prose.WithCommas(row.Tokens))
	}
	fmt.Fprintf(&b, "%-*s  %7s tokens (%.1f%% of %s token limit)\n", width, "total", prose.WithCommas(r.Total), r.Percent(), shortLimit(r.Limit))
	return b.String()
}

// shortLimit returns a limit as in 200k.
func shortLimit(n int) string {
	if n%1000 == 0 {
		return fmt.Sprintf("%dk", n/1000)
	}
	return prose.WithCommas(n)
}
