package human

import (
	"context"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/rowtest"
)

func TestNotices(t *testing.T) {
	d := &rowtest.Caller{T: t, Modules: []tool.Module{Notices()}}
	for _, tt := range []struct {
		row  string
		args *value.Dict
		want tool.Report
	}{
		{"emit", value.NewDict("chunk", "a\tb\n"), tool.ToolOutput{Chunk: "a\tb\n"}},
		{"emit", value.NewDict("chunk", "\x1b[2Jred\r\a\u009b"), tool.ToolOutput{Chunk: `\u001b[2Jred\u000d\u0007\u009b`}},
		{"progress", value.NewDict("message", "copying"), tool.Progress{Message: "copying"}},
		{"progress", value.NewDict("message", "", "done", int64(1), "total", 2.5), tool.Progress{Done: 1, Total: 2.5}},
		{"show", value.NewDict("part", "hello"), tool.Display{Part: "hello"}},
		{"log", value.NewDict("message", "hello"), tool.Log{Message: "hello"}},
		{"log", value.NewDict("message", value.List{int64(1), nil}), tool.Log{Message: "[1,null]"}},
	} {
		f := d.Func(tt.row)
		args, err := f.Bind(nil, tt.args)
		rowtest.NoError(t, err)
		var got []tool.Report
		grant := tool.Grant{Call: tool.Call{ID: "c1", Tool: "t1"}, Emit: func(r tool.Report) { got = append(got, r) }}
		out, err := f.Do(context.Background(), tool.Effect{Args: args}, grant)
		if err != nil || out.Value != nil {
			t.Errorf("%s = %v, %v, want null", tt.row, out.Value, err)
		}
		if len(got) != 1 || got[0] != tt.want {
			t.Errorf("%s(%s): reports %+v, want one: %+v", tt.row, value.FormatJSON(tt.args, ""), got, tt.want)
		}
		if _, err := f.Do(context.Background(), tool.Effect{Args: args}, tool.Grant{}); err != nil {
			t.Errorf("%s with nobody to tell: %v, want nil", tt.row, err)
		}
	}
	d.Fails(value.Invalid, "should be string", "emit", "chunk", int64(1))
	d.Fails(value.Invalid, "should be number", "progress", "message", "x", "done", "1")
}
