package table

import (
	"context"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/internal/testutil"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestXLSXTinyStrings has many texts of one byte, which take more memory than their bytes.
func TestXLSXTinyStrings(t *testing.T) {
	t.Parallel()
	const room = 48
	texts := testutil.Times(60_000, 1_000_000)
	in := bomb(t, "xl/sharedStrings.xml", "<sst>", "<si><t>x</t></si>", texts, "</sst>")
	for _, test := range []struct {
		memory int64
		fits   bool
	}{{3 * int64(texts) * room, false}, {6 * int64(texts) * room, true}} {
		input := &input{name: "text", held: in, size: int64(len(in))}
		_, err := readXLSX(context.Background(), tool.Grant{Memory: test.memory}, input, &readOptions{})
		if limited := err != nil && value.ErrorOf(err, value.Failed).Limit == value.LimitMemory; limited == test.fits {
			t.Errorf("with %d bytes of memory: %v, want it to fit: %v", test.memory, err, test.fits)
		}
	}
}

// TestXLSXWithoutStrings reads a workbook that declares shared texts but has none.
func TestXLSXWithoutStrings(t *testing.T) {
	t.Parallel()
	none := map[string]string{"xl/sharedStrings.xml": ""}
	tab, err := parseAs("xlsx", string(book(`<row r="1">`+inline("A1", "a")+`</row><row r="2"><c r="A2"><v>1</v></c></row>`, none)), readOptions{})
	if err != nil || show(t, tab) != "a:integer \n1\n" {
		t.Errorf("without a shared text: %v, %v", tab, err)
	}
	_, err = parseAs("xlsx", string(book(`<row r="1"><c r="A1" t="s"><v>0</v></c></row>`, none)), readOptions{})
	if err == nil || !strings.Contains(err.Error(), `cell A1: the cell refers to the shared string number "0", but the file has 0 shared strings`) || !strings.Contains(value.ErrorOf(err, value.Failed).Hint, "repair the file") {
		t.Errorf("with one: %v", err)
	}
}

func TestXLSXStrayCell(t *testing.T) {
	t.Parallel()
	in := book(`<row r="1">`+inline("A1", "x")+`</row><row r="1048576"><c r="XFD1048576"><v>1</v></c></row>`, nil)
	_, err := parseAs("xlsx", string(in), readOptions{})
	if e := value.ErrorOf(err, value.Failed); err == nil || e.Limit != value.LimitMemory || !strings.Contains(e.Hint, "clear") || !strings.Contains(e.Hint, "XFD1048576") {
		t.Errorf("%v (hint %q), want a hint with the cell to clear", err, e.Hint)
	}
}
