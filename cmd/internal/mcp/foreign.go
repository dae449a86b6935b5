package mcp

import (
	"fmt"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/tailscale/hujson"

	"github.com/cassidy-run/cassidy/internal/mcpfile"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// settingsFiles are the files in a project in which other programs name servers.
var settingsFiles = [...]string{mcpfile.Shared, ".cursor/mcp.json", ".vscode/mcp.json", ".gemini/settings.json", ".zed/settings.json", "opencode.json", "opencode.jsonc"}

// serverKeys are the fields of such files that name servers.
var serverKeys = [...]string{"mcpServers", "servers", "context_servers", "mcp"}

// A foreign is a server in the settings of another program.
type foreign struct {
	name  string
	from  string      // the file
	entry *value.Dict // as our file has it
	notes []string    // what differs from the settings, and what was copied as it is
	// problem is why the server cannot be used, or "".
	problem string
}

// readForeign returns the servers in a text of settings, which may have comments.
func readForeign(text, from string) ([]foreign, error) {
	plain, err := hujson.Standardize([]byte(text))
	if err != nil {
		return nil, value.Errorf(value.Invalid, "the file is not valid JSON: %w", err)
	}
	v, err := value.ParseJSON(plain)
	if err != nil {
		return nil, value.Errorf(value.Invalid, "the file is not valid JSON: %w", err)
	}
	settings, _ := v.(*value.Dict)
	var list []foreign
	for _, key := range serverKeys {
		for name, entry := range settings.Dict(key).OrEmpty().All() {
			if d, ok := entry.(*value.Dict); ok {
				t := &translation{foreign: foreign{name: serverNameOf(name.(string)), from: from}}
				t.translate(d)
				if t.name != name {
					t.note("the name was %q", value.Clean(name.(string), 60))
				}
				list = append(list, t.foreign)
			}
		}
	}
	return list, nil
}

// maxServerName is the longest name that a server may have.
const maxServerName = 30

// serverNameOf returns a valid name that resembles the one in other settings.
func serverNameOf(name string) string {
	if mcpfile.CheckName(name) == nil {
		return name
	}
	other := func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') }
	name = strings.Join(strings.FieldsFunc(strings.ToLower(name), other), "-")
	if name == "" || name[0] < 'a' {
		name = "server-" + name
	}
	return strings.Trim(name[:min(len(name), maxServerName)], "-")
}

// A translation makes an entry of our file.
type translation struct {
	foreign
	done []string // the fields that were read
}

func (t *translation) note(format string, args ...any) {
	t.notes = append(t.notes, fmt.Sprintf(format, args...))
}

func (t *translation) fail(format string, args ...any) {
	if t.problem == "" {
		t.problem = fmt.Sprintf(format, args...)
	}
}

func (t *translation) translate(d *value.Dict) {
	t.entry = &value.Dict{}
	if inner := d.Dict("command"); inner != nil { // older settings of Zed
		inner = inner.Clone(0)
		inner.Put("command", inner.Text("path"))
		d = inner
		t.done = append(t.done, "path")
	}
	words := append(t.words(d, "command"), t.words(d, "args")...)
	address := t.address(d)
	switch {
	case len(words) > 0 && words[0] != "":
		t.program(d, words)
	case address != "":
		t.remote(d, address)
	default:
		t.fail("the entry has neither a command nor a url")
	}
	t.done = append(t.done, "type", "enabled", "disabled", "source", "name", "description")
	if d.Text("type") == "sse" && address != "" {
		t.entry.Put("type", "sse")
	}
	t.tools(d)
	switch {
	case d.Bool("disabled") || d.Has("enabled") && !d.Bool("enabled"):
		t.fail("the entry is disabled")
	}
	for k := range d.All() {
		if name := k.(string); !slices.Contains(t.done, name) {
			t.note("%s was left out", value.Clean(name, 40))
		}
	}
}

// tools adds which tools are used, as the settings of Gemini and Codex name them.
func (t *translation) tools(d *value.Dict) {
	for _, names := range [][2]string{{"includeTools", "include"}, {"enabled_tools", "include"}, {"excludeTools", "exclude"}, {"disabled_tools", "exclude"}} {
		t.done = append(t.done, names[0])
		if list := d.Elements(names[0]); len(list) > 0 {
			grants := t.entry.Dict("cassidy").OrEmpty().Clone(1)
			grants.Put(names[1], value.List(list))
			t.entry.Put("cassidy", grants)
		}
	}
}

// words returns a field that is a text or a list of texts.
func (t *translation) words(d *value.Dict, field string) (words []string) {
	t.done = append(t.done, field)
	v, _ := d.Get(field)
	if text, ok := v.(string); ok {
		return []string{t.variables(text)}
	}
	for _, item := range d.Elements(field) {
		words = append(words, t.variables(value.Display(item)))
	}
	return words
}

func (t *translation) address(d *value.Dict) (address string) {
	for _, field := range []string{"httpUrl", "serverUrl", "url"} {
		t.done = append(t.done, field)
		if address == "" {
			address = t.variables(d.Text(field))
		}
	}
	return address
}

// program makes the entry of a server that is started.
func (t *translation) program(d *value.Dict, words []string) {
	if base := strings.TrimSuffix(path.Base(strings.ReplaceAll(words[0], `\`, "/")), ".exe"); base == serverName && slices.Contains(words, "serve") {
		t.fail("the server is cassidy itself")
	}
	t.entry.Put("command", words[0])
	if args := t.arguments(words[1:]); len(args) > 0 {
		t.entry.Put("args", texts(args))
	}
	env := &value.Dict{}
	for _, field := range []string{"env", "environment"} {
		t.pairs(d, field, env, func(name string) string {
			if variableName().MatchString(name) {
				return name
			}
			return t.variable(name)
		})
	}
	if env.Len() > 0 {
		t.entry.Put("env", env)
	}
	t.done = append(t.done, "cwd")
	if dir := t.variables(d.Text("cwd")); dir != "" && dir != "." {
		t.entry.Put("cwd", dir)
	}
}

// remote makes the entry of a server over HTTP.
func (t *translation) remote(d *value.Dict, address string) {
	t.entry.Put("url", t.secretsOfURL(address))
	s := mcpfile.Server{Name: t.name, URL: address}
	if _, err := s.Expand(func(string) (string, bool) { return "x", true }); err != nil {
		t.fail("%v", err)
	}
	headers := &value.Dict{}
	t.pairs(d, "headers", headers, t.variable)
	if headers.Len() > 0 {
		t.entry.Put("headers", headers)
	}
}

// pairs copies variables or headers. A secret is replaced by the environment variable that
// variable returns for its name.
func (t *translation) pairs(d *value.Dict, field string, to *value.Dict, variable func(string) string) {
	t.done = append(t.done, field)
	for k, v := range d.Dict(field).OrEmpty().All() {
		name := k.(string)
		text := t.variables(value.Display(v))
		switch {
		case isSecret(name, text):
			scheme, rest, ok := strings.Cut(text, " ")
			if !ok || rest == "" || field != "headers" {
				scheme = ""
			} else {
				scheme += " "
			}
			text = scheme + t.hide(name, variable(name))
		case text != "" && variableUse().ReplaceAllString(text, "") == text:
			t.note("copied as it is: %s=%s", value.Clean(name, 60), value.Clean(text, 60))
		}
		to.Put(name, text)
	}
}

// hide returns the use of an environment variable instead of a secret.
func (t *translation) hide(what, variable string) string {
	t.note("the value of %s was not copied: put it into the environment variable %s", value.Clean(what, 60), variable)
	return "${" + variable + "}"
}

// variable returns a name for the environment variable of a secret of the server.
func (t *translation) variable(name string) string {
	other := func(r rune) bool { return (r < 'A' || r > 'Z') && (r < '0' || r > '9') }
	return strings.Join(strings.FieldsFunc(strings.ToUpper(t.name+"_"+name), other), "_")
}

// arguments replaces the secrets in the arguments of a command.
func (t *translation) arguments(args []string) []string {
	out, flag := make([]string, len(args)), ""
	for i, arg := range args {
		name, text, joined := strings.Cut(arg, "=")
		switch {
		case strings.HasPrefix(arg, "-") && joined && isSecret(name, text):
			arg = name + "=" + t.hide(name, t.variable(name))
		case flag != "" && !strings.HasPrefix(arg, "-") && isSecret(flag, arg):
			arg = t.hide(flag, t.variable(flag))
		case joined && variableName().MatchString(name) && isSecret(name, text): // as in env NAME=VALUE
			arg = name + "=" + t.hide(name, name)
		case looksSecret(variableUse().ReplaceAllString(arg, "")):
			arg = t.hide(fmt.Sprintf("argument %d", i+1), t.variable(fmt.Sprintf("secret_%d", i+1)))
		}
		flag = ""
		if out[i] = arg; strings.HasPrefix(arg, "-") && !joined {
			flag = arg
		}
	}
	return out
}

// secretsOfURL replaces the secrets in the path and the query of a URL.
func (t *translation) secretsOfURL(address string) string {
	rest, query, hasQuery := strings.Cut(address, "?")
	parts := strings.Split(rest, "/")
	for i := range parts {
		if i > 2 && looksSecret(parts[i]) {
			parts[i] = t.hide("a part of the path", t.variable(fmt.Sprintf("path_%d", i-2)))
		}
	}
	address = strings.Join(parts, "/")
	if !hasQuery {
		return address
	}
	fields := strings.Split(query, "&")
	for i, field := range fields {
		name, text, _ := strings.Cut(field, "=")
		if plain, err := url.QueryUnescape(text); err != nil || isSecret(name, plain) {
			fields[i] = name + "=" + t.hide(name, t.variable(name))
		}
	}
	return address + "?" + strings.Join(fields, "&")
}

// foreignUse matches the forms in which other programs use variables.
var foreignUse = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\$?\{env:([A-Za-z_][A-Za-z0-9_]*)\}|\$\{input:([^}]*)\}|\$\{(workspaceFolder|userHome)\}|\$\{[^}]*\}|^\$([A-Za-z_][A-Za-z0-9_]*)$`)
})

var ourUse = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\$\{[A-Za-z_][A-Za-z0-9_]*(:-[^}]*)?\}$`)
})

// variables translates the variables in a text.
func (t *translation) variables(text string) string {
	return foreignUse().ReplaceAllStringFunc(text, func(use string) string {
		m := foreignUse().FindStringSubmatch(use)
		switch {
		case m[1]+m[4] != "":
			return "${" + m[1] + m[4] + "}"
		case m[2] != "":
			name := t.variable(m[2])
			t.note("the input %q is now the environment variable %s", value.Clean(m[2], 40), name)
			return "${" + name + "}"
		case m[3] == "workspaceFolder":
			return "."
		case m[3] == "userHome":
			return "${HOME}"
		case !ourUse().MatchString(use):
			t.fail("cassidy has no variable %s", value.Clean(use, 40))
		}
		return use
	})
}
