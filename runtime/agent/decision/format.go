package decision

import (
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/value"
	"strings"
)

// FormatFor returns the format in which a model is asked for decisions: the wanted one, or for ""
// Native if the model supports it, else PureJSON. It fails with kind Invalid for a format that is
// unknown, or that the model does not support.
func FormatFor(wanted Format, m model.Model) (Format, error) {
	switch wanted {
	case "":
		if m.Native() {
			return Native, nil
		}
		return PureJSON, nil
	case PureJSON, XMLJSON, Markdown, Code:
		return wanted, nil
	case Native:
		if m.Native() {
			return Native, nil
		}
		return "", value.Errorf(value.Invalid, "the model %s does not support native tool calls", m.Name()).
			WithHint("use the format %s, %s or %s", PureJSON, XMLJSON, Markdown)
	}
	known := []string{string(PureJSON), string(XMLJSON), string(Markdown), string(Native), string(Code)}
	return "", value.Errorf(value.Invalid, "unknown format %q%s", wanted, value.DidYouMean(string(wanted), known)).
		WithHint("use one of: \"%s\"", strings.Join(known, `", "`))
}
