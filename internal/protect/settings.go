package protect

import (
	"slices"
	"strings"
)

// A setting is one of git: its section without the name of a subsection, a dot and its
// name, in lower case.
type setting struct{ key, value string }

// isInclude reports whether the value is the path of other settings. Conditions are taken as met.
func (s setting) isInclude() bool { return s.key == "include.path" || s.key == "includeif.path" }

// isPath reports whether the value is the path of a folder with programs that git starts, or copies to where
// it starts them.
func (s setting) isPath() bool { return s.key == "core.hookspath" || s.key == "init.templatedir" }

// isCommand reports whether git starts the value, in this version or a later one.
func (s setting) isCommand() bool {
	section, name := s.key, ""
	if i := strings.LastIndexByte(s.key, '.'); i >= 0 {
		section, name = s.key[:i], s.key[i+1:]
	}
	switch {
	case section == "pager":
		return true
	case section == "alias", section == "submodule" && name == "update", section == "credential":
		return strings.HasPrefix(s.value, "!") || name == "helper" || name == "command"
	case name == "path": // of a program that shows or merges something
		return slices.Contains([]string{"browser", "difftool", "guitool", "man", "mergetool"}, section)
	case strings.HasPrefix(s.value, "ext::"): // an address that is a command
		return true
	}
	return slices.ContainsFunc(commandNames, func(end string) bool { return strings.HasSuffix(name, end) })
}

// commandNames end the names of settings that are commands, such as core.fsmonitor,
// filter.NAME.clean and diff.NAME.textconv.
var commandNames = []string{
	"fsmonitor", "clean", "smudge", "process", "textconv", "external", "driver", "filter", "command", "cmd",
	"program", "helper", "hook", "editor", "pager", "askpass", "proxy", "script", "uploadpack", "receivepack",
	"browser", "httpd", "smtpserver",
}

// settingsIn reads a file of git's settings, as git does.
func settingsIn(text string) (list []setting) {
	p := settingsText{text: strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n")}
	section := ""
	for p.text != "" {
		switch c := p.next(); {
		case c == '#' || c == ';':
			p.until("\n")
		case c == '[':
			section = p.section()
		case isName(c):
			key := section + "." + strings.ToLower(string(c)+p.while(isName))
			p.while(isBlank)
			if strings.HasPrefix(p.text, "=") {
				p.next()
				list = append(list, setting{key, p.value()})
			}
		}
	}
	return list
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

func isName(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '.'
}

// A settingsText is what is left of a text.
type settingsText struct{ text string }

func (p *settingsText) next() (c byte) {
	c, p.text = p.text[0], p.text[1:]
	return c
}

// until reads to one of some characters, or to the end.
func (p *settingsText) until(stops string) (read string) {
	end := strings.IndexAny(p.text, stops)
	if end < 0 {
		end = len(p.text)
	}
	read, p.text = p.text[:end], p.text[end:]
	return read
}

func (p *settingsText) while(is func(c byte) bool) (read string) {
	n := 0
	for n < len(p.text) && is(p.text[n]) {
		n++
	}
	read, p.text = p.text[:n], p.text[n:]
	return read
}

// section reads the head of a section behind its bracket. The name of a subsection is in
// quotes, and may have a bracket too.
func (p *settingsText) section() (name string) {
	name = strings.ToLower(strings.TrimSpace(p.until("]\"\n")))
	for strings.HasPrefix(p.text, `"`) {
		for p.next(); p.text != "" && p.text[0] != '"' && p.text[0] != '\n'; {
			if p.next() == '\\' && p.text != "" {
				p.next()
			}
		}
		if strings.HasPrefix(p.text, `"`) {
			p.next()
		}
		p.until("]\"\n")
	}
	if strings.HasPrefix(p.text, "]") {
		p.next()
	}
	return name
}

// value reads a value behind its sign: without quotes, comments and the white space around
// it. A backslash continues it on the next line.
func (p *settingsText) value() string {
	var b strings.Builder
	p.while(isBlank)
	quoted, kept := false, 0 // so much of it ends in no white space
	for p.text != "" {
		c := p.next()
		switch {
		case c == '\n':
			return b.String()[:kept]
		case c == '"':
			quoted = !quoted
			kept = b.Len()
			continue
		case !quoted && (c == '#' || c == ';'):
			p.until("\n")
			continue
		case c == '\\' && p.text != "":
			switch c = p.next(); c {
			case '\n':
				continue
			case 'n':
				c = '\n'
			case 't':
				c = '\t'
			case 'b':
				c = '\b'
			}
		}
		b.WriteByte(c)
		if quoted || !isBlank(c) {
			kept = b.Len()
		}
	}
	return b.String()[:kept]
}
