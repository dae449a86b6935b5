package openai

import (
	"cmp"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/model/internal/wire"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// imageTypes are the images that the APIs read,
// https://platform.openai.com/docs/guides/images-vision.
var imageTypes = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// audioFormats are the audio that chat completions reads,
// https://platform.openai.com/docs/guides/audio.
var audioFormats = map[string]string{"audio/wav": "wav", "audio/x-wav": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}

const pdfType = "application/pdf"

// dataURL returns the address of media, or media as an address.
func dataURL(media *model.Media) string {
	if media.URL != "" {
		return media.URL
	}
	return "data:" + media.Type + ";base64," + base64.StdEncoding.EncodeToString(media.Data)
}

func fileName(media *model.Media) string {
	if media.Type == pdfType {
		return cmp.Or(media.Name, "document.pdf")
	}
	return cmp.Or(media.Name, "document.txt")
}

// chatParts returns a text and media as the parts of a message of chat completions.
func (m *client) chatParts(text string, list []model.Media) (value.List, *wire.Failure) {
	parts := textPart(text, "text")
	for i := range list {
		media := &list[i]
		switch {
		case slices.Contains(imageTypes, media.Type):
			parts = append(parts, value.NewDict("type", "image_url", "image_url", value.NewDict("url", dataURL(media))))
		case media.URL != "" && strings.HasPrefix(media.Type, "video/") && m.at("openrouter.ai"):
			parts = append(parts, value.NewDict("type", "video_url", "video_url", value.NewDict("url", media.URL)))
		case media.URL != "" && !m.at("openrouter.ai"), media.URL != "" && media.Type != pdfType: // OpenRouter gets documents
			return nil, m.w.NeedsData(media)
		case media.Type == pdfType:
			parts = append(parts, value.NewDict("type", "file", "file", value.NewDict("filename", fileName(media), "file_data", dataURL(media))))
		case audioFormats[media.Type] != "":
			parts = append(parts, value.NewDict("type", "input_audio", "input_audio",
				value.NewDict("data", base64.StdEncoding.EncodeToString(media.Data), "format", audioFormats[media.Type])))
		default:
			return nil, m.w.Unreadable(media, "attach a PNG, JPEG, GIF or WebP image, a PDF, or WAV or MP3 audio")
		}
	}
	return parts, nil
}

// inputParts returns a text and media as the parts of an input item of Responses.
func (m *client) inputParts(text string, list []model.Media) (value.List, *wire.Failure) {
	parts := textPart(text, "input_text")
	for i := range list {
		media := &list[i]
		switch {
		case slices.Contains(imageTypes, media.Type):
			parts = append(parts, value.NewDict("type", "input_image", "detail", "auto", "image_url", dataURL(media)))
		case media.URL != "" && (media.Type == pdfType || strings.HasPrefix(media.Type, "text/")):
			parts = append(parts, value.NewDict("type", "input_file", "file_url", media.URL))
		case media.Type == pdfType, strings.HasPrefix(media.Type, "text/"):
			parts = append(parts, value.NewDict("type", "input_file", "filename", fileName(media), "file_data", dataURL(media)))
		default:
			return nil, m.w.Unreadable(media, "attach a PNG, JPEG, GIF or WebP image, a PDF, or a text")
		}
	}
	return parts, nil
}

func textPart(text, kind string) value.List {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	return value.List{value.NewDict("type", kind, "text", text)}
}

// citations adds the sources that the annotations of a text name, each once, as lines of text.
func citations(known []string, annotations []*value.Dict) []string {
	for _, a := range annotations {
		if len(known) == wire.MaxSources {
			break
		}
		if inner := wire.Child(a, "url_citation"); inner != nil { // of chat completions
			a = inner
		}
		line := cmp.Or(a.Text("url"), a.Text("filename"))
		if title := strings.Join(strings.Fields(a.Text("title")), " "); title != "" && title != line && line != "" {
			line = title + ": " + line
		}
		if line != "" && !slices.Contains(known, line) {
			known = append(known, line)
		}
	}
	return known
}
