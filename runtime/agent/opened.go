package agent

import (
	"io"

	"github.com/cassidy-run/cassidy/runtime/model"
)

// openedModels are models that were opened by their names, and are closed when they are no longer needed.
// The zero value is ready to use. It is not safe for concurrent use.
type openedModels struct{ models []model.Model }

// Add adds a model that was opened.
func (o *openedModels) Add(m model.Model) { o.models = append(o.models, m) }

// Close closes each model that is an [io.Closer]. Nothing can be done about an error: what was asked
// has its answer.
func (o *openedModels) Close() {
	for _, m := range o.models {
		if c, ok := m.(io.Closer); ok {
			_ = c.Close()
		}
	}
	o.models = nil
}
