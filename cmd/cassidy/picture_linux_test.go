package main

import (
	"flag"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var pictures = flag.String("picture", "", "write the pictures of the README into `DIR`: go test ./cmd/cassidy -run TestDemo -args -picture ../../docs")

// A palette is the colours of a picture.
type palette struct{ back, text, faint, green, red, magenta string }

var palettes = map[string]palette{
	"light": {"#ffffff", "#1f2328", "#6e7781", "#1a7f37", "#cf222e", "#8250df"},
	"dark":  {"#0d1117", "#e6edf3", "#8d96a0", "#3fb950", "#f85149", "#d2a8ff"},
}

// parts are what a picture shows of the demo: the lines from one that contains the first text up to one that contains the second.
var parts = [][2]string{
	{"$ cat .cassidy/tools/low_stock.star", "def low_stock"},
	{"tool(", "needs ="},
	{"$ cassidy task", "✓ 1  low_stock"},
	{"? Change 1 file?", "✓ approved once"},
	{"$ kill -9", "$ kill -9"},
	{"$ cassidy runs resume", "The supplier says"},
	{"$ cassidy runs undo", "removed ORDER.md"},
}

// drawPicture writes what was shown on a terminal as pictures.
func drawPicture(t *testing.T, dir, shown string) {
	t.Helper()
	var lines []string
	rest := strings.Split(strings.ReplaceAll(shown, "\r\n", "\n"), "\n")
	for i, line := range rest {
		rest[i] = line[strings.LastIndex(line, "\r")+1:] // without the progress that the line has replaced
	}
	plain := func(line string) string { return escape.ReplaceAllString(line, "") }
	for _, part := range parts {
		for len(rest) > 0 && !strings.Contains(plain(rest[0]), part[0]) {
			rest = rest[1:]
		}
		for len(rest) > 0 {
			line := rest[0]
			rest = rest[1:]
			lines = append(lines, line)
			if strings.Contains(plain(line), part[1]) {
				break
			}
		}
		lines = append(lines, "")
	}
	if len(rest) == 0 {
		t.Fatalf("the demo does not show all parts:\n%s", shown)
	}
	for name, p := range palettes {
		if err := os.WriteFile(filepath.Join(dir, "demo-"+name+".svg"), []byte(p.svg(lines)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// escape matches a style of a text on a terminal.
var escape = regexp.MustCompile(`\x1b\[([0-9;?]*)[a-zA-Z]`)

const (
	lineHeight = 18
	width      = 960 // 110 columns
	columns    = 110
)

// svg returns a picture of lines.
func (p palette) svg(lines []string) string {
	var b strings.Builder
	height := lineHeight*len(lines) + 24
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,monospace" font-size="14">`+"\n", width, height)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" rx="8" fill="%s"/>`+"\n", width, height, p.back)
	for i, line := range lines {
		if line == "" {
			continue
		}
		fmt.Fprintf(&b, `<text x="16" y="%d" xml:space="preserve" fill="%s">%s</text>`+"\n", 26+i*lineHeight, p.text, p.spans(line))
	}
	return b.String() + "</svg>\n"
}

// spans returns a line with its styles.
func (p palette) spans(line string) string {
	var b strings.Builder
	style, left := "", columns
	write := func(text string) {
		runes := []rune(text)
		if len(runes) > left {
			runes = append(runes[:max(0, left-1)], '…')
		}
		if left -= len(runes); len(runes) > 0 {
			fmt.Fprintf(&b, `<tspan%s>%s</tspan>`, style, html.EscapeString(string(runes)))
		}
	}
	for {
		at := escape.FindStringSubmatchIndex(line)
		if at == nil {
			write(line)
			return b.String()
		}
		write(line[:at[0]])
		switch line[at[2]:at[3]] {
		case "1":
			style = ` font-weight="bold"`
		case "2":
			style = ` fill="` + p.faint + `"`
		case "31":
			style = ` fill="` + p.red + `"`
		case "32":
			style = ` fill="` + p.green + `"`
		case "35":
			style = ` fill="` + p.magenta + `"`
		default:
			style = ""
		}
		line = line[at[1]:]
	}
}
