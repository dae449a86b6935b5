package draw

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPages(t *testing.T) {
	t.Parallel()
	list := func(p *Page) {
		entries := []Entry{
			{Name: "a", Text: "The first of them, with a description that is long.", Remarks: []string{"ready", "project"}},
			{Mark: Asks, Name: "b_long", Text: "Second.", Remarks: []string{"untrusted: it has changed"}, Warnings: []string{"no model"}},
		}
		p.List("  ", NameWidth([]string{"a", "b_long"}), entries)
	}
	whole := func(p *Page) {
		p.List("", 1, []Entry{{Name: "a", Text: strings.Repeat("word ", 18) + "end", Whole: true}})
	}
	for _, c := range []struct {
		name   string
		screen Screen
		put    func(p *Page)
		want   string
	}{
		{"a list", Screen{Width: 40}, list, `
  a       The first of them, with a de…
            ready · project
? b_long  Second.
            untrusted: it has changed
! no model
`},
		{"a list in a pipe", Screen{}, list, `
  a       The first of them, with a description that is long.
          [ready · project]
  b_long  Second.
          [untrusted: it has changed]
          no model
`},
		{"a list where names have no room", Screen{Width: 24}, list, `
  a
    The first of them,…
      ready · project
? b_long
    Second.
      untrusted: it has
      changed
! no model
`},
		{"a list for a screen reader", Screen{Width: 60, ASCII: true, Plain: true}, list, `
  a: The first of them, with a description that is long. -
  ready, project
asks: b_long: Second. - untrusted: it has changed
risk: no model
`},
		{"a text that is not cut", Screen{Width: 60}, whole, `
  a  word word word word word word word word word word word
     word word word word word word word end
`},
		{"a text that is not cut, in a pipe", Screen{}, whole, "\na  " + strings.Repeat("word ", 18) + "end\n"},
		{"facts", Screen{Width: 50}, func(p *Page) { p.Fact("Needs", "fs.read and more"); p.Fact("None", "") }, "\n  Needs       fs.read and more\n"},
		{"facts in a pipe", Screen{}, func(p *Page) { p.Fact("Needs", strings.Repeat("fs.read ", 9)+"fs.write") }, `
Needs:     fs.read fs.read fs.read fs.read fs.read fs.read fs.read fs.read
Needs:     fs.read fs.write
`},
		{"a text", Screen{Width: 40}, func(p *Page) {
			p.Text("  ", "A text that its author has broken into two lines, after sixty\ncells.\n\n- one\n- two\n    code\n")
		}, `
  A text that its author has broken
  into two lines, after sixty cells.

  - one
  - two
      code
`},
		{"a long word in a pipe", Screen{}, func(p *Page) { p.Text("  ", "see "+strings.Repeat("x", 100)) }, "\n  see\n  " + strings.Repeat("x", 100) + "\n"},
	} {
		p := Page{Screen: c.screen}
		c.put(&p)
		if diff := cmp.Diff(strings.TrimPrefix(c.want, "\n"), p.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}
