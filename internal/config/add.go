package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/internal/mark"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// AddRules adds rules that allow something in one project to the user's config, a line each,
// and returns these lines. The rules are bound to the project's folder, which gets an ID: another
// folder at the same path does not have them. The rest of the file stays as it is. It changes
// nothing if the file cannot be read, or would not mean what it means now and the rules.
func AddRules(file, project string, rules []tool.Rule) (written string, err error) {
	if real, err := filepath.EvalSymlinks(file); err == nil {
		file = real // a link stays a link
	}
	text, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", value.Errorf(value.Failed, "add a rule to %s: %w", file, err)
	}
	m, err := mark.Make(project)
	if err != nil {
		return "", value.Errorf(value.Failed, "add a rule to %s: write %s: %w", file, mark.File, folder.Cause(err))
	}
	lines := make([]string, len(rules))
	for i := range rules {
		lines[i] = strings.TrimSuffix(rules[i].String(), "}") + ", project: " + strconv.Quote(project) + ", id: " + strconv.Quote(m.Text()) + "}"
	}
	written = "  - " + strings.Join(lines, "\n  - ") + "\n"
	changed := withRules(string(text), lines)
	if err := checkAdded(file, project, string(text), changed, rules); err != nil {
		return "", value.Errorf(value.Failed, "add a rule to %s: %w", file, err).WithHint("edit %s and add to the list 'allow': %s", file, strings.Join(lines, ", "))
	}
	if err := replaceFile(file, changed); err != nil {
		return "", value.Errorf(value.Failed, "add a rule to %s: %w", file, err)
	}
	return written, nil
}

var (
	allowLine = regexp.MustCompile(`(?m)^allow[ \t]*:[ \t]*(\[?)[ \t]*(\]?)`)
	itemLine  = regexp.MustCompile(`^([ \t]*)-[ \t]`)
)

// withRules returns a config with rules at the beginning of its list of allowed ones.
func withRules(text string, rules []string) string {
	at := allowLine.FindStringSubmatchIndex(text)
	if at == nil {
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		return text + "allow:\n  - " + strings.Join(rules, "\n  - ") + "\n"
	}
	if bracket := at[3]; at[2] < bracket { // allow: [...]
		list := strings.Join(rules, ", ")
		if at[4] == at[5] {
			list += ", "
		}
		return text[:bracket] + list + text[bracket:]
	}
	rest := text[at[0]:]
	line, after, _ := strings.Cut(rest, "\n")
	indent := "  "
	for next := range strings.Lines(after) {
		if item := itemLine.FindStringSubmatch(next); item != nil {
			indent = item[1]
		} else if blank := strings.TrimSpace(next); blank == "" || blank[0] == '#' {
			continue
		}
		break
	}
	list := ""
	for _, rule := range rules {
		list += indent + "- " + rule + "\n"
	}
	return text[:at[0]] + line + "\n" + list + after
}

// checkAdded fails unless a changed config means what it meant before, and rules.
func checkAdded(file, project, before, after string, rules []tool.Rule) error {
	var was, is Config
	for _, c := range []struct {
		to   *Config
		text string
	}{{&was, before}, {&is, after}} {
		r := reader{to: c.to, file: file, source: file, root: project}
		if err := r.parse(c.text); err != nil {
			return err
		}
	}
	for _, rule := range rules {
		rule.Source = file
		i := slices.Index(is.Rules, rule)
		if i < 0 {
			return value.Errorf(value.Invalid, "the rule cannot be expressed in YAML")
		}
		is.Rules = slices.Delete(is.Rules, i, i+1)
	}
	if len(was.Rules) == 0 {
		was.Rules, is.Rules = nil, is.Rules[:len(is.Rules):len(is.Rules)]
		if len(is.Rules) == 0 {
			is.Rules = nil
		}
	}
	if !reflect.DeepEqual(was, is) {
		return value.Errorf(value.Invalid, "the list 'allow' in the file cannot be edited automatically")
	}
	return nil
}

// replaceFile replaces a file of the user, or makes it.
func replaceFile(file, text string) error {
	mode := fs.FileMode(0o600)
	if info, err := os.Stat(file); err == nil {
		mode = info.Mode().Perm()
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	next, err := os.CreateTemp(filepath.Dir(file), ".config-*")
	if err != nil {
		return err
	}
	_, err = next.WriteString(text)
	if err == nil {
		err = next.Chmod(mode)
	}
	if err == nil {
		err = next.Sync()
	}
	if closeErr := next.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(next.Name(), file)
	}
	if err != nil {
		_ = os.Remove(next.Name())
	}
	return err
}
