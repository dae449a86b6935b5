package value

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strings"
)

// MaxMedia is the limit of the data of a [Media], in bytes. It is that of a file that a
// script reads or writes.
const MaxMedia = 8 << 20

// A Media is an image or a document, which people and some models can read. [NewMedia]
// makes one from data. Equal data are equal values.
//
// Its JSON form is text: a data URL, such as "data:image/png;base64,iVBO…". For people it
// is written as in "[image/png, 12 KB]", see [FormatJSON].
type Media struct {
	Type string // the result of [MediaType] for Data
	Data []byte // at most MaxMedia bytes, which must not be changed
}

// mediaTypes lists the types of a [Media].
const mediaTypes = "PNG, JPEG, GIF, WebP or PDF"

// MediaType returns the MIME type of an image or a document by its first bytes, whatever
// the name of its file is: image/png, image/jpeg, image/gif, image/webp or
// application/pdf. It returns "" for any other data.
func MediaType(data []byte) string {
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

// NewMedia returns data as a Media, whose type it finds by the first bytes. It does not copy
// the data. It fails with kind Limit for more than [MaxMedia] bytes, and with kind Invalid for
// no data and for data of another type.
func NewMedia(data []byte) (Media, error) {
	m := Media{MediaType(data), data}
	return m, m.Check()
}

// Check reports what is wrong with the media: the errors of [NewMedia], and a Type that is
// not that of the data.
func (m Media) Check() error {
	found := MediaType(m.Data)
	switch {
	case len(m.Data) > MaxMedia:
		return Limitf(LimitRead, "the image or document is too large: %s, limit %d MB", sizeText(len(m.Data)), MaxMedia>>20)
	case len(m.Data) == 0:
		return Errorf(Invalid, "the image or document is empty")
	case found == "":
		return Errorf(Invalid, "the data is neither an image nor a PDF").WithHint("use " + mediaTypes)
	case m.Type != found:
		return Errorf(Invalid, "the data is %s, not %s", found, Clean(m.Type, 60))
	}
	return nil
}

// String returns the type and the size, as in "[image/png, 12 KB]".
func (m Media) String() string { return "[" + m.Type + ", " + sizeText(len(m.Data)) + "]" }

func sizeText(n int) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 1<<20-1<<9:
		return fmt.Sprintf("%d KB", (n+1<<9)>>10)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
}

// MarshalText returns the media as a data URL. It fails as [Media.Check] does.
func (m Media) MarshalText() ([]byte, error) {
	if err := m.Check(); err != nil {
		return nil, err
	}
	return m.appendURL(nil), nil
}

func (m Media) appendURL(dst []byte) []byte {
	dst = append(append(append(dst, "data:"...), m.Type...), ";base64,"...)
	return base64.StdEncoding.AppendEncode(dst, m.Data)
}

// UnmarshalText reads a data URL in base64. It fails with kind Invalid or Limit, and then
// leaves the media as it was.
func (m *Media) UnmarshalText(text []byte) error {
	head, code, ok := bytes.Cut(text, []byte(";base64,"))
	kind, isURL := bytes.CutPrefix(head, []byte("data:"))
	if !ok || !isURL {
		return Errorf(Invalid, "expected an image or a PDF as a data URL (data:image/png;base64,…) but got %q", Cut(string(text), 60))
	}
	if base64.StdEncoding.DecodedLen(len(code)) > MaxMedia+2 { // 2: the padding
		return Limitf(LimitRead, "the image or document is too large: limit %d MB", MaxMedia>>20)
	}
	data := make([]byte, base64.StdEncoding.DecodedLen(len(code)))
	n, err := base64.StdEncoding.Decode(data, code)
	if err != nil {
		return Errorf(Invalid, "the data URL is not valid base64")
	}
	read := Media{string(kind), data[:n]}
	if err := read.Check(); err != nil {
		return err
	}
	*m = read
	return nil
}

// MediaIn returns the media in a value, at any depth, in their order.
func MediaIn(v Value) (found []Media) {
	switch v := v.(type) {
	case Media:
		return []Media{v}
	case *Dict:
		for k, item := range v.All() {
			found = append(append(found, MediaIn(k)...), MediaIn(item)...)
		}
		return found
	}
	items, _ := Elements(v)
	for _, item := range items {
		found = append(found, MediaIn(item)...)
	}
	return found
}
