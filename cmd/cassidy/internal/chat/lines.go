package chat

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"strings"

	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/ui"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// chatLines has the model answer each line of standard input, in one session. A line is read after the
// answer to the line before it, so a program can write lines by the answers. Lines are messages as
// they are: they attach no files and are no commands. The first turn without an answer ends the
// session.
func (c *command) chatLines(ctx context.Context, h *host.Host, s *agent.Session, skills []string) error {
	lines := bufio.NewScanner(c.In)
	lines.Buffer(nil, ui.MaxInput)
	sent := false
	for lines.Scan() {
		message := strings.TrimSpace(string(bytes.TrimPrefix(lines.Bytes(), []byte("\ufeff"))))
		if message == "" {
			continue
		}
		c.ReportAll(c.changes.take())
		if err := c.chatOnce(ctx, h, s, skills, message, nil); err != nil {
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
