package table

import (
	"context"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

// groups are the rows of a table in groups: what group_by gives.
type groups struct {
	kinds   *kinds
	of      *Table
	columns []int // by whose values
}

// Type implements [tool.Object].
func (s *groups) Type() *tool.ObjectType { return &s.kinds.groups }

// Plain implements [tool.Object].
func (s *groups) Plain(context.Context, tool.Grant) (tool.Value, error) {
	return nil, tool.Errorf(tool.Failed, "groups cannot leave the script").WithHint("call agg(…), and give its table")
}

// Text implements [tool.Object].
func (s *groups) Text(context.Context, tool.Grant) (string, error) {
	return "<groups of a table: call agg(…)>", nil
}

func groupRows() []row { return nil }

func groupsRows() []row { return nil }
