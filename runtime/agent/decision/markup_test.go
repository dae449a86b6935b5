package decision

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/agent/internal/loose"
)

func TestMarkAt(t *testing.T) {
	for _, c := range []struct{ text, name string }{
		{"<tool_call>x", "toolcall"},
		{"</tool_call>", "/toolcall"},
		{"<function_calls>", "functioncalls"},
		{"<|tool_call_start|>", "toolcallstart"},
		{"<｜tool▁calls▁begin｜>", "toolcallsbegin"},
		{"[TOOL_CALLS]", "toolcalls"},
		{"<|tool_call>x", "toolcall"},
		{"<tool_call|>", "/toolcall"},
		{"<｜DSML｜function_calls>", "dsmlfunctioncalls"},
		{"[/INST]", "/inst"},
		{"<TOOLCALL>", "toolcall"},
		{"[tool_calls]", ""}, // a list of one name
		{"[f(x)]", ""},
		{"<a href=x>", ""},
		{"<a", ""},
		{"<>", ""},
		{"tool_call>", ""},
		{"", ""},
		{"<" + strings.Repeat("a", 70) + ">", ""},
	} {
		m, ok := markAt(c.text, 0)
		if ok != (c.name != "") || m.Name != c.name {
			t.Errorf("MarkAt(%q) = %+v, %v, want %q", c.text, m, ok, c.name)
		}
		if ok && !strings.ContainsAny(c.text[m.End-1:m.End], ">]") {
			t.Errorf("MarkAt(%q) ends at %d", c.text, m.End)
		}
	}
	if _, ok := markAt("<a>", 3); ok {
		t.Error("a mark at the end of a text")
	}
}

func TestElements(t *testing.T) {
	for _, c := range []struct{ text, want, rest, fault string }{
		{"<a>1</a> <b>\n2\n</b>.", "a:1 b:2", ".", ""},
		{`<parameter=path>x y</parameter><parameter name="n">1</parameter>`, "parameter path:x y parameter n:1", "", ""},
		{`<ns:parameter name='n'>1</ns:parameter>`, "parameter n:1", "", ""},
		{`<｜x｜p name="n" string="true">` + "\r\n1\n" + `</｜x｜p>.`, "p n:\r\n1\n", ".", ""},
		{`<｜x｜p name="n" string="false">1<｜x｜p name="m" string="false">2</｜x｜p>`, "", `<｜x｜p name="n" string="false">1<｜x｜p name="m" string="false">2</｜x｜p>`, "the parameter n is not closed"},
		{"<｜x｜>1</｜x｜>", "", "<｜x｜>1</｜x｜>", ""},
		{"<｜x>1</｜x>", "", "<｜x>1</｜x>", ""},
		{"<a>\r\n1\r\n2\r\n</a>", "a:1\n2", "", ""},
		{"<a><b>1</b></a>", "a:<b>1</b>", "", ""},
		{"<a></a>", "a:", "", ""},
		{"text", "", "text", ""},
		{"", "", "", ""},
		{"</a>", "", "</a>", ""},
		{"<a>1</a><b>2", "a:1", "<b>2", "the parameter b  is not closed"},
		{"<p=x>1<p=y>2</p>", "", "<p=x>1<p=y>2</p>", "the parameter x is not closed"},
	} {
		list, end, fault := elements(c.text, 0, loose.NewFinder(c.text))
		var got []string
		for _, e := range list {
			got = append(got, strings.TrimSpace(e.Tag+" "+e.Name)+":"+e.Text)
		}
		if strings.Join(got, " ") != c.want || c.text[end:] != c.rest || (fault != nil) != (c.fault != "") || fault != nil && fault.What != c.fault {
			t.Errorf("Elements(%q) = %q, rest %q, %+v; want %q, %q, %q", c.text, got, c.text[end:], fault, c.want, c.rest, c.fault)
		}
	}
}

func TestHead(t *testing.T) {
	for _, c := range []struct{ head, tag, name string }{
		{"a", "a", ""}, {"a=b", "a", "b"}, {`a="b c"`, "a", "b c"}, {`a name="b"`, "a", "b"}, {`a name='b'`, "a", "b"}, {`a name="b" string="true"`, "a", "b"}, {"", "", ""},
	} {
		if tag, name := headOf(c.head); tag != c.tag || name != c.name {
			t.Errorf("Head(%q) = %q, %q, want %q, %q", c.head, tag, name, c.tag, c.name)
		}
	}
}

// TestElementsAreLinear reads hostile texts from each position. A function that searches
// the closing tag of each element anew takes minutes.
func TestElementsAreLinear(t *testing.T) {
	for _, unit := range []string{"<a>", "<a></a>", "<p=x>", "<", "<a", "[A]", "<|a|>", "</a>", "<a>1</b>", "<｜x｜p", "<｜", `<｜x｜p name="a" string="true">`} {
		text := strings.Repeat(unit, 1_000_000/len(unit))
		ends := loose.NewFinder(text)
		for at := 0; at < len(text); at++ {
			markAt(text, at)
		}
		for at := 0; at < len(text); {
			_, end, fault := elements(text, at, ends)
			if end < at || end > len(text) {
				t.Fatalf("%s: Elements at %d ends at %d, %s", unit, at, end, fmt.Sprint(fault))
			}
			at = max(end, at+1)
		}
	}
}
