package config

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/lockedfile"

	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/internal/identity"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Change is a change of the rules in the user's config that has not been made. Write makes
// it. The rest of the file stays as it is, with its comments.
type Change struct {
	File          string // the config; if it is a link, the file that it leads to
	Before, After string // the text of the file
	Lines         string // what is added or removed: a line for each rule
	Fault         error  // of [EditField]: what is still wrong with the file, or nil

	purpose string                            // for errors
	hint    string                            // what to edit, if the file cannot be changed; "" leaves the error of edit as it is
	prepare func() error                      // is called before the change is written; or nil
	edit    func(text string) (string, error) // makes the change in a text of the file
}

// AddRules returns the change that adds rules which allow something in one project. The rules are
// bound to the project's folder, which gets an ID when they are written: another folder at the same path does
// not have them. A rule that the file already has is not added again. AddRules fails if the file cannot be
// read, or if with the rules it would not mean what it means now and the rules.
func AddRules(file, project string, rules []tool.Rule) (*Change, error) {
	m, err := identity.Of(project)
	if err != nil {
		return nil, value.Errorf(value.Failed, "add a rule to %s: read %s: %w", file, identity.File, folder.Cause(err))
	}
	id := "(made when this is written)"
	if m.ID != "" {
		id = m.Text()
	}
	c := &Change{File: file, purpose: "add a rule to "}
	var lines []string
	name := func(id string) {
		lines = value.Map(rules, func(r tool.Rule) string {
			return strings.TrimSuffix(r.String(), "}") + ", project: " + strconv.Quote(project) + ", id: " + strconv.Quote(id) + "}"
		})
		c.Lines = "  - " + strings.Join(lines, "\n  - ") + "\n"
		c.hint = "edit " + file + " and add to the list 'allow': " + strings.Join(lines, ", ")
	}
	name(id)
	c.prepare = func() error {
		m, err := identity.Make(project)
		if err != nil {
			return value.Errorf(value.Failed, "add a rule to %s: write %s: %w", file, identity.File, folder.Cause(err))
		}
		name(m.Text())
		return nil
	}
	c.edit = func(text string) (string, error) {
		missing, missingLines, err := missingRules(file, project, text, rules, lines)
		if err != nil || len(missing) == 0 {
			return text, err
		}
		changed := withRules(text, missingLines)
		return changed, checkEdit(file, project, text, changed, missing)
	}
	return c, c.plan()
}

// plan reads the file, and makes the change in its text.
func (c *Change) plan() (err error) {
	if real, err := filepath.EvalSymlinks(c.File); err == nil {
		c.File = real // a link stays a link
	} else if to, err := os.Readlink(c.File); err == nil {
		return value.Errorf(value.Failed, "%s%s: the link leads to %s, which does not exist", c.purpose, c.File, to).WithHint("make that file, or remove the link")
	}
	c.Before, c.After, err = c.texts()
	return err
}

// texts returns the text of the file, and the text with the change.
func (c *Change) texts() (before, after string, err error) {
	text, err := (&reader{file: c.File}).readBounded()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", "", folder.HomeError(strings.TrimSuffix(c.purpose, " "), c.File, err)
	}
	if after, err = edited(text, c.edit); err != nil {
		if e := value.ErrorOf(err, value.Failed); e.Kind == value.NotFound {
			return "", "", value.Errorf(value.NotFound, "%s%s: %w", c.purpose, c.File, err).WithHint("%s", e.Hint)
		}
		if c.hint == "" {
			return "", "", err
		}
		return "", "", value.Errorf(value.Failed, "%s%s: %w", c.purpose, c.File, err).WithHint("%s", c.hint)
	}
	return text, after, nil
}

// edited makes a change in a text, whose line ends and byte order mark stay: an editor of Windows may have written them.
func edited(text string, edit func(text string) (string, error)) (string, error) {
	body, marked := strings.CutPrefix(text, "\ufeff")
	crlf := strings.Count(body, "\r\n")
	if crlf == 0 || crlf < strings.Count(body, "\n") {
		crlf = 0
	} else {
		body = strings.ReplaceAll(body, "\r\n", "\n")
	}
	after, err := edit(body)
	if crlf > 0 {
		after = strings.ReplaceAll(after, "\n", "\r\n")
	}
	if marked {
		after = "\ufeff" + after
	}
	return after, err
}

// Write makes the change in the file as it is now, also if another process has changed the file since
// the change was returned: changes of several processes are made one after another. It replaces
// the file in one step. It does not replace a file that its user must not write.
func (c *Change) Write() error {
	fail := func(err error) error {
		return value.Errorf(value.Failed, "%s%s: %w", c.purpose, c.File, folder.Cause(err)).WithHint(folder.HomeHint) // no editor can write it either
	}
	if err := c.writable(); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(c.File), 0o700); err != nil {
		return fail(err)
	}
	unlock, err := lockedfile.MutexAt(filepath.Join(filepath.Dir(c.File), lockName)).Lock()
	if err != nil {
		return fail(err)
	}
	defer unlock()
	if c.prepare != nil {
		if err := c.prepare(); err != nil {
			return err
		}
	}
	if c.Before, c.After, err = c.texts(); err != nil || c.Before == c.After {
		return err
	}
	if err := folder.Replace(c.File, []byte(c.After), 0o600); err != nil {
		return fail(err)
	}
	return nil
}

// writable returns an error for a file that its user must not write, if the change would write it.
func (c *Change) writable() error {
	if info, err := os.Stat(c.File); err == nil && info.Mode().Perm()&0o200 == 0 && c.Before != c.After {
		return value.Errorf(value.Failed, "%s%s: %w", c.purpose, c.File, fs.ErrPermission).WithHint("%s", cmp.Or(c.hint, folder.HomeHint))
	}
	return nil
}

// lockName is the name of the file in the folder of the config that is locked while rules are
// changed. The config cannot be locked itself, because a change replaces it.
const lockName = ".config.lock"

// missingRules returns the rules that a text of a config does not have for a project, and their
// lines.
func missingRules(file, project, text string, rules []tool.Rule, lines []string) (missing []tool.Rule, missingLines []string, err error) {
	now, err := parsed(file, project, text)
	if err != nil {
		return nil, nil, err
	}
	for i, rule := range rules {
		rule.Source = file
		if !slices.Contains(now.Rules, rule) {
			missing, missingLines = append(missing, rule), append(missingLines, lines[i])
		}
	}
	return missing, missingLines, nil
}

// parsed returns what a text of the user's config means in a project.
func parsed(file, project, text string) (c Config, err error) {
	r := reader{to: &c, file: file, source: file, root: project}
	err = r.parse(text)
	return c, err
}

var allowLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^allow[ \t]*:[ \t]*(\[?)[ \t]*(\]?)`)
})

// withRules returns a config with rules at the beginning of its list of allowed ones.
func withRules(text string, rules []string) string {
	at := allowLine().FindStringSubmatchIndex(text)
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
		item := strings.TrimLeft(next, " \t")
		if strings.HasPrefix(item, "- ") || strings.HasPrefix(item, "-\t") {
			indent = strings.TrimSuffix(next, item)
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

// checkEdit fails unless a config means after a change what it meant before, and further rules.
// To check a removal, exchange before and after.
func checkEdit(file, project, before, after string, rules []tool.Rule) error {
	var was, is Config
	for _, c := range []struct {
		to   *Config
		text string
	}{{&was, before}, {&is, after}} {
		r := reader{to: c.to, file: file, source: file, root: project, everywhere: true}
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
	if len(was.Rules) == 0 && len(is.Rules) == 0 {
		was.Rules, is.Rules = nil, nil
	}
	if !reflect.DeepEqual(was, is) {
		return value.Errorf(value.Invalid, "the list 'allow' in the file cannot be edited automatically")
	}
	return nil
}
