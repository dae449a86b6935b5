package eval

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"sync"

	"github.com/cassidy-run/cassidy/runtime/agent/decision"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/account"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A watched model is that of one case: it estimates the tokens of its requests and replies, for
// providers that report none, and keeps a hash of its first request.
type watched struct {
	model.Model
	format decision.Format

	mu            sync.Mutex
	prompt        string // the hash of the first request
	first         int    // tokens of the first request, estimated
	input, output int    // tokens of all requests and replies, estimated
	unreachable   error  // the error of a request that did not reach the model; nil for none
}

// Info is for [model.InfoOf].
func (w *watched) Info(ctx context.Context) model.Info { return model.InfoOf(ctx, w.Model) }

// Ask implements [model.Model].
func (w *watched) Ask(ctx context.Context, r *model.Request) (*model.Reply, error) {
	w.noteRequest(r)
	reply, err := w.Model.Ask(ctx, r)
	w.mu.Lock()
	defer w.mu.Unlock()
	if value.KindOf(err) == value.Unavailable && !errors.Is(err, model.ErrEmpty) {
		w.unreachable = err
	}
	if err == nil {
		w.unreachable = nil
		said := reply.Message()
		w.output += estimate(nil, "", "", []model.Message{said})
	}
	return reply, err
}

func (w *watched) noteRequest(r *model.Request) {
	n := estimate(r.Tools, w.format, r.System, r.Messages)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.input += n
	if w.prompt == "" {
		w.first, w.prompt = n, hashOf(prompt{r.System, r.Messages})
	}
}

// A prompt is what is hashed of a request.
type prompt struct {
	System   string          `json:"system"`
	Messages []model.Message `json:"messages"`
}

// estimate estimates the tokens of messages, with the tools that are sent beside them.
func estimate(tools []tool.Tool, f decision.Format, system string, messages []model.Message) int {
	b := account.Budget{}.WithDefaults()
	a := account.New(&b, tools, f)
	a.Add(system)
	for i := range messages {
		a.AddMessage(&messages[i])
	}
	return a.Used()
}

// fill sets what a result has of the requests.
func (w *watched) fill(r *Result) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r.PromptHash, r.PromptTokens = w.prompt, w.first
	r.InputTokens, r.OutputTokens, r.Estimated = w.input, w.output, true
}

// hashOf returns a short hash of a value in JSON.
func hashOf(v any) string {
	converted, err := value.FromGo(v)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256([]byte(value.FormatJSON(converted, "")))
	return shortHash(hex.EncodeToString(sum[:]))
}

// shortHash cuts a hash to what tells texts apart: nobody attacks it.
func shortHash(hash string) string { return hash[:min(len(hash), 16)] }
