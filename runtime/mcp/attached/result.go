package attached

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// resultOf returns the value of a result in the form of the protocol: its structured content, or
// its text. Images and documents follow in a list. Content of other kinds becomes a line that
// describes it.
func resultOf(d *value.Dict) (value.Value, error) {
	var texts []string
	var media value.List
	for _, block := range blocksOf(d) {
		text, m, err := contentOf(block)
		if err != nil {
			return nil, err
		}
		if m != nil {
			media = append(media, *m)
		} else {
			texts = append(texts, text)
		}
	}
	text := strings.Join(texts, "\n")
	if d.Bool("isError") {
		if strings.TrimSpace(text) == "" {
			text = "the tool failed"
		}
		return nil, value.Errorf(value.Failed, "%s", value.Clean(text, value.MaxErrorText))
	}
	var first value.Value = text
	if v, ok := d.Get("structuredContent"); ok && v != nil {
		first = v
	}
	switch {
	case len(media) == 0:
		return first, nil
	case len(media) == 1 && first == value.Value(""):
		return media[0], nil
	case first == value.Value(""):
		return media, nil
	}
	return append(value.List{first}, media...), nil
}

// blocksOf returns the content of a result. Some servers send one block, or a text.
func blocksOf(d *value.Dict) (blocks []*value.Dict) {
	content, _ := d.Get("content")
	list, isList := value.Elements(content)
	if !isList && content != nil {
		list = []value.Value{content}
	}
	for _, v := range list {
		switch v := v.(type) {
		case *value.Dict:
			blocks = append(blocks, v)
		case string:
			blocks = append(blocks, value.NewDict("type", "text", "text", v))
		default:
			blocks = append(blocks, value.NewDict("type", "text", "text", value.FormatJSON(v, "")))
		}
	}
	return blocks
}

// contentOf returns the text of a block, or its image or document.
func contentOf(block *value.Dict) (text string, m *value.Media, err error) {
	switch kind := block.Text("type"); kind {
	case "text":
		return block.Text("text"), nil, nil
	case "image", "audio":
		return mediaOf(block.Text("data"), block.Text("mimeType"))
	case "resource":
		r := block.Dict("resource")
		if r.Has("blob") {
			return mediaOf(r.Text("blob"), r.Text("mimeType"))
		}
		return r.Text("text"), nil, nil
	case "resource_link":
		return strings.TrimSpace(block.Text("name") + " " + block.Text("uri")), nil, nil
	default:
		return fmt.Sprintf("[content of the type %q]", value.Clean(kind, maxShownName)), nil, nil
	}
}

// mediaOf returns an image or a document, or a line that describes data of another kind.
func mediaOf(data, kind string) (string, *value.Media, error) {
	b, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return "", nil, value.Errorf(value.Failed, "the result of the tool has invalid data: %w", err)
	}
	m, err := value.NewMedia(b)
	switch {
	case err == nil:
		return "", &m, nil
	case value.KindOf(err) == value.Limit:
		return "", nil, err
	}
	return fmt.Sprintf("[%s, %d bytes]", value.Clean(kind, maxShownName), len(b)), nil, nil
}
