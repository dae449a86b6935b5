package agent

import (
	"context"
	"slices"

	"github.com/cassidy-run/cassidy/runtime/agent/internal/dialog"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/prompt"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/internal/taint"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// MaxMedia is the limit of the images and documents of a conversation, 20 MB: of attachments
// and of the results of tools. If they would have more, older results lose theirs.
const MaxMedia = dialog.MaxMedia

// Attach adds images and documents to the next message that is sent. They are recorded with its
// turn, and a compaction keeps them. It fails with kind Limit if the attachments of the
// conversation are together longer than [MaxMedia], with kind Invalid if it is known that the model
// cannot read one, and with Busy during a turn; then nothing is added.
func (s *Session) Attach(ctx context.Context, media ...model.Media) error {
	if !s.busy.TryLock() {
		return s.errBusy()
	}
	defer s.busy.Unlock()
	all := slices.Concat(s.state.Attached, media)
	if err := dialog.CheckAttached(all, s.agent.opts.Model.Name(), s.agent.sizes.Info(ctx).Media, s.state.AttachLimit()); err != nil {
		return err
	}
	s.state.Attached = all
	return nil
}

// MarkUntrusted says that the conversation has text that others have written, such as an attached
// file: from now on each call of the model that sends or runs something asks for approval. what
// names the text, for the question. A result of a tool need not be marked: see
// [tool.Hints].UntrustedOutput.
func (s *Session) MarkUntrusted(what string) { s.state.Marks.Add(taint.Source{What: what}) }

// Detach drops what [Session.Attach] has added and no message has sent.
func (s *Session) Detach() { s.state.Attached = nil }

// showMedia decides which images and documents of the result of a call the model gets with it, and
// tells the model of the others.
func (t *turn) showMedia(ctx context.Context, c *plannedCall) {
	shown, note := prompt.Shown(value.MediaIn(c.result.Value), t.agent.sizes.Info(ctx).Media, t.state.ResultLimit())
	c.shown, c.text = shown, prompt.Paragraphs(c.text, note)
}

// refusedMedia reports whether a request was perhaps refused because of the images and documents of
// results. It is then sent without them.
func (t *turn) refusedMedia(ctx context.Context, err error) bool {
	t.unread = value.KindOf(err) == value.Invalid && t.state.HasMedia()
	if t.unread {
		host.Emit(ctx, tool.Log{Message: "the request is sent again without the images and documents of results: " + value.ErrorOf(err, value.Invalid).Message()})
	}
	return t.unread
}
