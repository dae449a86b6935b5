package agent

import (
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// stream emits the text of a reply as it arrives, and that a request is sent again.
func stream(r *model.Request, emit func(tool.Report)) {
	received := false
	r.Text = func(piece string) {
		received = received || piece != ""
		emit(tool.Text{Text: piece})
	}
	r.Notice = func(n model.Notice) {
		if n.Retry == nil {
			return
		}
		emit(tool.ModelRetry{Error: value.ErrorOf(n.Retry, value.Unavailable).Message(), Wait: n.Wait, Discards: received})
		received = false
	}
}
