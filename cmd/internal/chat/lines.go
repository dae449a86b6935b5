package chat

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"strings"

	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// lines has the model answer each line of standard input, in one session. A line is read after the
// answer to the line before it, so a program can write lines by the answers. Lines are messages as
// they are: they attach no files and are no commands. The first turn without an answer ends the
// session.
func (t *chatSession) lines(ctx context.Context) error {
	lines := bufio.NewScanner(t.In)
	lines.Buffer(nil, ui.MaxInput)
	sent, skills := false, t.setup.Skills
	t.known = t.selected()
	for lines.Scan() {
		message := strings.TrimSpace(string(bytes.TrimPrefix(lines.Bytes(), []byte("\ufeff"))))
		if message == "" {
			continue
		}
		if sent { // the session has begun with the files as they were
			if err := t.update(ctx); err != nil {
				return err
			}
		}
		if err := t.chatOnce(ctx, t.host, t.session, skills, message, nil); err != nil {
			return err
		}
		sent, skills = true, nil
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return value.Errorf(value.Invalid, "read the messages: a line is longer than %d MB", ui.MaxInput>>20)
	case err != nil && !errors.Is(err, io.EOF):
		return value.Errorf(value.Invalid, "read the messages: %w", err)
	case !sent:
		return value.Errorf(value.Invalid, "standard input has no message").WithHint("write each message on a line")
	}
	return nil
}
