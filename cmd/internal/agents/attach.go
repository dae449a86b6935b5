package agents

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/protect"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Attach adds files to the next message of a session: images and PDF as they are or by their
// address, and text files to the text of the message, which it returns. What was attached before,
// and not sent, is dropped. The text of a file that is not one of the project is untrusted.
func Attach(ctx context.Context, a *app.App, s *agent.Session, files []string, message string) (string, error) {
	s.Detach()
	var media []model.Media
	for _, file := range files {
		m, err := mediaAt(file)
		if err == nil && m.URL == "" {
			m, err = readMedia(file)
		}
		if err != nil {
			return "", err
		}
		noteSecret(a, file)
		if isForeign(a, file) {
			s.MarkUntrusted(m.Name)
		}
		if m.Type == plainText {
			message += fmt.Sprintf("\n\nThe file %s:\n\n%s", ui.VisibleLine(m.Name), fenced(string(m.Data)))
			continue
		}
		media = append(media, m)
	}
	if len(media) == 0 {
		return message, nil
	}
	return message, s.Attach(ctx, media...)
}

// MarkContext marks a session as untrusted for each file of --context-file that is not one of the
// project, and for names of files in --context that are untrusted text.
func MarkContext(a *app.App, s *agent.Session, setup *Setup) {
	for _, file := range setup.ContextFiles {
		noteSecret(a, file)
		if isForeign(a, file) {
			s.MarkUntrusted(filepath.Base(file))
		}
	}
	root, err := a.Root()
	for _, name := range setup.named {
		if err == nil && isForeign(a, filepath.Join(root, filepath.FromSlash(name))) {
			s.MarkUntrusted("the name " + name)
			return // one is enough, and few are cheap to look up
		}
	}
}

// noteSecret says so if a file that a person has named is the source of a secret. They may send it all the same.
func noteSecret(a *app.App, file string) {
	info, err := os.Stat(file)
	if err != nil {
		return
	}
	if files, err := a.SecretFiles(); err == nil && protect.HoldsSecret(files, info) != "" {
		a.Warn("%s holds a secret of your config: the model and the record of the run get its value", file)
	}
}

// plainText is the type of a file that becomes a part of the message.
const plainText = "text/plain"

// mediaAt returns the image or document at an address, which the provider gets. The end of the
// address shows its type. The URL is "" if file is not an address.
func mediaAt(file string) (m model.Media, err error) {
	if !isAddress(file) {
		return m, nil
	}
	name, _, _ := strings.Cut(file, "#")
	name, _, _ = strings.Cut(name, "?")
	types := map[string]string{".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp", ".pdf": "application/pdf"}
	kind := types[strings.ToLower(path.Ext(name))]
	if kind == "" {
		return m, value.Errorf(value.Invalid, "attach %s: the address does not end in .png, .jpg, .jpeg, .gif, .webp or .pdf", file).
			WithHint("download the file, and attach the local file")
	}
	return model.Media{Type: kind, Name: path.Base(name), URL: file}, nil
}

// readMedia reads a file and finds its type by its content, whatever its name is.
func readMedia(file string) (m model.Media, err error) {
	data, err := ui.ReadRegular(file, agent.MaxMedia)
	if err != nil {
		return m, value.ErrorOf(err, value.Invalid).WithOp("attach " + file)
	}
	m = model.Media{Type: value.MediaType(data), Name: filepath.Base(file), Data: data}
	switch {
	case len(data) == 0:
		return m, value.Errorf(value.Invalid, "attach %s: the file is empty", file)
	case m.Type == "application/pdf" && !strings.EqualFold(path.Ext(m.Name), ".pdf"):
		m.Name += ".pdf" // providers look at it
	case m.Type != "":
	case utf8.Valid(data) && bytes.IndexByte(data, 0) < 0:
		m.Type = plainText
	default:
		return m, value.Errorf(value.Invalid, "attach %s: the file is neither an image, a PDF nor text", file).
			WithHint("attach PNG, JPEG, GIF, WebP, PDF or UTF-8 text")
	}
	return m, nil
}

// fenced returns a text between two lines of backticks, of which it has fewer in a row.
func fenced(text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "\n" + strings.TrimSuffix(text, "\n") + "\n" + fence
}
