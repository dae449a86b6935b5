package watch

import (
	"slices"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// News are the errors that were reported, so that each is reported once. The zero value has none.
type News struct {
	known map[string]bool // as texts
}

// Of returns the errors that were not reported, and notes that now these errors are reported and no
// others.
func (n *News) Of(wrong []*value.Error) []*value.Error {
	known := map[string]bool{}
	news := slices.DeleteFunc(wrong, func(e *value.Error) bool {
		text := e.Error()
		twice := known[text]
		known[text] = true
		return twice || n.known[text]
	})
	n.known = known
	return news
}
