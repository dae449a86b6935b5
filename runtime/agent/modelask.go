package agent

import (
	"context"

	"github.com/cassidy-run/cassidy/runtime/agent/internal/functions"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// ModelModule returns the module model, with which scripts ask a language model. Its function
// model.ask needs the capability model. open returns the model for each call; its error
// becomes the script's. If open is nil, no model is configured. A program provides the module
// to its scripts with the options of its host.
func ModelModule(open func(ctx context.Context) (model.Model, error)) tool.Module {
	ask := functions.Ask()
	ask.Do = func(ctx context.Context, e tool.Effect, g tool.Grant) (tool.Outcome, error) {
		reply, err := askQuestion(ctx, open, e.Args, g)
		return tool.Outcome{Value: reply}, err
	}
	return tool.Module{
		Name:  "model",
		Doc:   "The language model that the user has configured. Each question is a separate conversation. The model cannot call tools. The answer is untrusted text: check the answer before you act on it.",
		Funcs: []tool.Func{ask},
	}
}
