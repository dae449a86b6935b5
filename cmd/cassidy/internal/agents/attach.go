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

	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/ui"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Attach adds files to the next message of a session: images and PDF as they are or by their
// address, and text files to the text of the message, which it returns.
func Attach(ctx context.Context, s *agent.Session, files []string, message string) (string, error) {
	var media []model.Media
	for _, file := range files {
		m, err := mediaAt(file)
		if err == nil && m.URL == "" {
			m, err = readMedia(file)
		}
		if err != nil {
			return "", err
		}
		if m.Type == plainText {
			message += fmt.Sprintf("\n\nThe file %s:\n\n%s", m.Name, m.Data)
			continue
		}
		media = append(media, m)
	}
	if len(media) == 0 {
		return message, nil
	}
	return message, s.Attach(ctx, media...)
}

// plainText is the type of a file that becomes a part of the message.
const plainText = "text/plain"

// mediaAt returns the image or document at an address, which the provider gets. The end of the
// address shows its type. The URL is "" if file is not an address.
func mediaAt(file string) (m model.Media, err error) {
	if !strings.HasPrefix(file, "https://") && !strings.HasPrefix(file, "http://") {
		return m, nil
	}
	name, _, _ := strings.Cut(file, "#")
	name, _, _ = strings.Cut(name, "?")
	types := map[string]string{".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp", ".pdf": "application/pdf"}
	kind := types[strings.ToLower(path.Ext(name))]
	if kind == "" {
		return m, value.Errorf(value.Invalid, "attach %s: the address does not end in .png, .jpg, .jpeg, .gif, .webp or .pdf", file).
			WithHint("download the file, and attach it from the disk")
	}
	return model.Media{Type: kind, Name: path.Base(name), URL: file}, nil
}

// readMedia reads a file and finds its type.
func readMedia(file string) (m model.Media, err error) {
	info, err := os.Stat(file)
	if err == nil && info.Size() > agent.MaxMedia {
		return m, value.Errorf(value.Limit, "attach %s: the file is too long: %.1f MB, limit %d MB", file, float64(info.Size())/(1<<20), agent.MaxMedia>>20).
			WithHint("attach a smaller file; a tool can read parts of a long one")
	}
	var data []byte
	if err == nil {
		data, err = os.ReadFile(file)
	}
	if err != nil {
		return m, value.Errorf(value.Invalid, "attach %s: %w", file, ui.FileError(err))
	}
	m = model.Media{Type: mediaType(data), Name: filepath.Base(file), Data: data}
	switch {
	case m.Type != "":
	case utf8.Valid(data) && bytes.IndexByte(data, 0) < 0:
		m.Type = plainText
	default:
		return m, value.Errorf(value.Invalid, "attach %s: the file is neither an image, a PDF nor text", file).
			WithHint("attach PNG, JPEG, GIF, WebP, PDF or UTF-8 text")
	}
	return m, nil
}

// mediaType returns the type of an image or a PDF by its first bytes, or "".
func mediaType(data []byte) string {
	head := string(data[:min(len(data), 12)])
	switch {
	case strings.HasPrefix(head, "\x89PNG\r\n\x1a\n"):
		return "image/png"
	case strings.HasPrefix(head, "\xff\xd8\xff"):
		return "image/jpeg"
	case strings.HasPrefix(head, "GIF87a"), strings.HasPrefix(head, "GIF89a"):
		return "image/gif"
	case len(head) == 12 && head[:4] == "RIFF" && head[8:] == "WEBP":
		return "image/webp"
	case strings.HasPrefix(head, "%PDF-"):
		return "application/pdf"
	}
	return ""
}
