package taint

import (
	"path"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Names returns the first of some paths of the project whose name is untrusted text, or "".
func (l *Lists) Names(m *Marks, paths []string) string {
	if len(paths) == 0 {
		return ""
	}
	of := m.namesOf(&l.Files)
	for _, at := range paths {
		if name := l.untrusted(of, at, listed); name != "" {
			return asOpened(at, name)
		}
	}
	return ""
}

// readName returns the untrusted place that the text of an effect names, or "": the output of a command, or
// an error, which can suggest what is there. What the arguments name tells nothing new in an error. The
// output of a command is also untrusted if the command works in such a place, or on it.
func (l *Lists) readName(e tool.Effect, out value.Value, err error) string {
	text, known := "", []string(nil)
	if err != nil && strings.HasPrefix(e.Func, "fs.") {
		failure := value.ErrorOf(err, value.Failed)
		text = failure.Error() + "\n" + failure.Hint
		known = []string{e.Args.Text("path"), e.Args.Text("from"), e.Args.Text("to")}
	}
	if d, ok := out.(*value.Dict); ok && e.Func == "shell.run" {
		if text = d.Text("stdout") + "\n" + d.Text("stderr"); len(text) > 1 {
			text += "\n" + e.Args.Text("cwd") + "/.\n" + strings.Join(textsOf(e.Args.Elements("argv")), "/.\n") + "/."
		}
	}
	if text == "" {
		return ""
	}
	known = slices.DeleteFunc(known, func(s string) bool { return s == "" })
	for _, c := range l.Untrusted {
		if !isRead(c) {
			continue
		}
		if head, _, _ := strings.Cut(c.Target, "*"); !strings.Contains(text, strings.TrimSuffix(head, "/")) {
			continue
		}
		if name := l.namedIn(c, text, known); name != "" {
			return name
		}
	}
	return ""
}

func textsOf(list value.List) []string {
	return value.Map(list, func(v value.Value) string { s, _ := v.(string); return s })
}

// marks can stand around a path in a text.
const marks = "\"'`?!,;:()"

// maxLine is how long the parts are in which a line is searched for names.
const maxLine = 1000

// namedIn returns a path in a text that a source covers, or "". A path begins with a line, a word, a quote, or after
// a slash, and ends with the line, the word or a colon: it is taken as one if it could be.
func (l *Lists) namedIn(c tool.Capability, text string, known []string) string {
	first, _, _ := strings.Cut(c.Target, "/") // a path begins with it, unless it is a pattern
	if strings.ContainsAny(first, `*?[{\`) {
		first = ""
	}
	for line := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '\n' || r == '\r' || r == 0 }) {
		for ; line != ""; line = line[min(len(line), maxLine):] {
			part := line[:min(len(line), 2*maxLine)] // overlapping
			for from := 0; from < min(len(part), maxLine); from++ {
				if from > 0 && !strings.ContainsRune(" \t\"'`(=:/", rune(part[from-1])) {
					continue
				}
				rest := part[from:]
				if !strings.HasPrefix(strings.TrimLeft(rest, marks), first) {
					continue
				}
				for _, end := range []int{len(rest), strings.IndexAny(rest, " \t"), strings.IndexAny(rest, ":")} {
					if end < 0 {
						continue
					}
					if name := l.coversText(c, rest[:end], known); name != "" {
						return name
					}
				}
			}
		}
	}
	return ""
}

// coversText returns a text as a path if a source covers it, or "". The name of the source itself is
// none, unless a colon or /. behind it says that what follows is from there.
func (l *Lists) coversText(c tool.Capability, text string, known []string) string {
	kind := listed
	if strings.HasSuffix(text, "/.") || strings.HasSuffix(text, ":") {
		kind = opened
	}
	name := path.Clean(strings.Trim(text, marks))
	if name == "." || name == ".." || !coversName(c, name, kind) || tool.AllowsAny(l.Trusted, tool.Capability{Name: c.Name, Target: name}) {
		return ""
	}
	for _, k := range known {
		if k = path.Clean(k); k == name || strings.HasPrefix(k, name+"/") || strings.HasSuffix(k, "/"+name) {
			return ""
		}
	}
	return name
}
