package encoding

import (
	"context"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

// Media returns the module media: read and from_bytes.
func Media() tool.Module {
	return row.Pure(tool.Module{
		Name: "media",
		Doc: "Images and PDF files as values. A tool can return them, alone or in a list or a dict. Models that can read the type get the content. People see the type and the size. " +
			"The type is PNG, JPEG, GIF, WebP or PDF. It is detected from the first bytes, not from the name of the file. The maximum size is 8 MB.\n\n" +
			"- `m.type`: the MIME type, such as \"image/png\"\n" +
			"- `m.size`: the number of bytes\n" +
			"- `m.data`: the bytes\n\n" +
			"In JSON, such a value is a data URL: `data:image/png;base64,…`.",
		Funcs: []tool.Func{
			{
				Name:     "read",
				Doc:      "Read an image or a PDF file. Needs `fs.read`.",
				Params:   []tool.Param{tool.Required("path", tool.TypeString, "The file.")},
				Returns:  "the image or document",
				Requests: []string{"fs.read"},
				Do:       mediaRead,
			},
			{
				Name:    "from_bytes",
				Doc:     "Make an image or a document from its bytes.",
				Params:  []tool.Param{tool.Required("data", tool.TypeAny, "The bytes of the file.")},
				Returns: "the image or document",
				Do: row.Do(func(a *value.Dict) (value.Value, error) {
					data, err := row.Bytes(a, "data")
					if err != nil {
						return nil, err
					}
					return newMedia("argument 'data'", data)
				}),
			},
		},
	})
}

// mediaRead requests the bytes of the file as the script would, through the gate.
func mediaRead(_ context.Context, e tool.Effect, g tool.Grant) (tool.Outcome, error) {
	if g.Do == nil {
		return tool.Outcome{}, value.Errorf(value.Denied, "files are unavailable: no project folder is open").
			WithHint("run cassidy --dir DIR; in Go, set Options.Dir")
	}
	path := e.Args.Text("path")
	out, err := g.Do("fs.read_bytes", value.NewDict("path", path))
	if failed := value.ErrorOf(err, value.Failed); failed != nil && failed.Limit == value.LimitRead {
		return tool.Outcome{}, failed.WithHint("use a smaller image or document")
	}
	if err != nil {
		return tool.Outcome{}, err
	}
	data, ok := out.Value.([]byte)
	if !ok {
		return tool.Outcome{}, value.Errorf(value.Internal, "fs.read_bytes: expected bytes but got %s", value.TypeOf(out.Value))
	}
	return row.Outcome(newMedia(path, data))
}

// newMedia returns data as a value; what names the data in errors.
func newMedia(what string, data []byte) (value.Value, error) {
	m, err := value.NewMedia(data)
	if err != nil {
		return nil, value.ErrorOf(err, value.Invalid).WithOp(what)
	}
	return m, nil
}
