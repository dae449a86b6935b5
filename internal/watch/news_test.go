package watch

import (
	"testing"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestNews checks that each error is new once, and again after it was gone.
func TestNews(t *testing.T) {
	t.Parallel()
	var n News
	for i, test := range []struct {
		wrong string
		want  int
	}{{"a", 1}, {"ab", 1}, {"ab", 0}, {"b", 0}, {"bbc", 1}, {"a", 1}, {"", 0}, {"aa", 1}} {
		var wrong []*value.Error
		for _, c := range test.wrong {
			wrong = append(wrong, value.Errorf(value.Failed, "%c", c))
		}
		if news := n.Of(wrong); len(news) != test.want {
			t.Errorf("%d: of %q, %v are new, want %d", i, test.wrong, news, test.want)
		}
	}
}
