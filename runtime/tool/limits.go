package tool

import (
	"encoding/base64"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// CheckResult fails if a result has no JSON form, or one that is longer than l.Result. The images
// and documents in it are not counted, but may have [value.MaxMedia] bytes together.
func (l Limits) CheckResult(v value.Value) error {
	if value.FitsJSON(v, l.Result) {
		return nil
	}
	text, err := value.AppendJSON(nil, v)
	if err != nil {
		return value.Errorf(value.Failed, "the result cannot be written as JSON: %w", err).WithHint("%s", value.ErrorOf(err, value.Failed).Hint)
	}
	size, encoded := 0, 0
	for _, m := range value.MediaIn(v) {
		size, encoded = size+len(m.Data), encoded+base64.StdEncoding.EncodedLen(len(m.Data))
	}
	if size > value.MaxMedia {
		return value.Errorf(value.Limit, "the images and documents of the result are too large: %.1f MB in total, limit %d MB", float64(size)/(1<<20), value.MaxMedia>>20).
			WithLimit("result").WithHint("return fewer or smaller ones in one call")
	}
	if text = text[encoded:]; len(text) <= l.Result {
		return nil
	}
	return value.Errorf(value.Limit, "the result is too long: %d KB, limit %d KB", len(text)>>10, l.Result>>10).WithLimit("result").
		WithHint("return less data in one call, or write the result to a file")
}
