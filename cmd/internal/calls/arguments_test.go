package calls

import (
	"testing"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// FuzzPairs checks that key=value is taken apart in one way.
func FuzzPairs(f *testing.F) {
	f.Add("a=1", "b:=[1]")
	f.Add("a==", "=a")
	f.Add("a:=\"x\"", "a=\xff")
	t := &tool.Tool{Name: "t", Params: []tool.Param{{Name: "a"}}}
	f.Fuzz(func(tt *testing.T, one, two string) {
		args, _, err := parsePairs(t, []string{one, two})
		if err != nil {
			if e := value.ErrorOf(err, value.Internal); e.Kind != value.Invalid && e.Kind != value.Limit {
				tt.Errorf("parsePairs(%q, %q) = %v, which is not the user's mistake", one, two, err)
			}
			return
		}
		if args.Len() != 2 {
			tt.Errorf("parsePairs(%q, %q) has %d arguments", one, two, args.Len())
		}
	})
}
