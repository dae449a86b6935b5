package codemode

import (
	"context"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/agent/internal/roster"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/stub"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// maxFound is the most tools that a search returns.
const maxFound = 50

// search returns the tools that fit a query.
func (m *mode) search(_ context.Context, args *value.Dict) (value.Value, error) {
	tools := m.tools()
	if strings.TrimSpace(args.Text("query")) == "" {
		return groups(tools), nil
	}
	hits := roster.Search(tools, args.Text("query"))
	found := value.List{}
	for _, t := range hits[:min(len(hits), int(args.Int("limit")))] {
		found = append(found, value.NewDict("name", t.Name, "call", stub.Signature(t), "summary", t.Summary()))
	}
	return value.NewDict("tools", found, "found", len(hits)), nil
}

// groups returns the names of all tools by group.
func groups(tools []tool.Tool) *value.Dict {
	all := &value.Dict{}
	for i := range tools {
		group := tools[i].DisplayGroup()
		names, _ := all.Get(group)
		list, _ := names.(value.List)
		all.Put(group, append(list, value.Value(tools[i].Name)))
	}
	return value.NewDict("groups", all, "found", len(tools))
}
