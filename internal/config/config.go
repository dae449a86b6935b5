// Package config reads config.yaml, the user's and the project's.
//
// A project's config can only ask and deny: what grants anything is the user's to decide.
package config

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/internal/yaml"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Config is what the user's config.yaml and the project's say. The zero value
// is what holds where neither says anything.
type Config struct {
	// ProjectOverridesPersonal lets a project's tool stand for a personal one
	// of the same name; else neither is used. Only the user's config decides.
	ProjectOverridesPersonal bool
	// Sandbox is where scripts run. Only the user's config decides.
	Sandbox SandboxConfig
	// Rules say what becomes of what tools want to do: the user's, then those
	// of the project, which only ask and deny.
	Rules []tool.Rule
	// Secrets are where the values of secrets come from, by name. Only the
	// user's config says it.
	Secrets map[string]SecretSource
	// PrivateHosts are the addresses inside the user's own network that tools
	// may reach where they are granted the host. Only the user's config says it.
	PrivateHosts []netip.Prefix
	// Commands is what the user's config says of commands, as it is written
	// there; nil where it says nothing.
	Commands *value.Dict
	// Model is who decides where nobody says, as in openai:NAME; "" says nothing.
	// Only the user's config decides.
	Model string
	// Limits cap what tools ask for; a field that is zero caps nothing. Only
	// the user's config decides.
	Limits LimitCaps
	// Runs says which records of runs are kept. Only the user's config decides.
	Runs RunsKept
	// Warnings are what the configs say that counts for nothing.
	Warnings []string
}

// A SandboxMode says in what scripts run.
type SandboxMode string

const (
	SandboxProcess SandboxMode = "process" // a process of its own that many calls share; the default
	SandboxStrict  SandboxMode = "strict"  // a process of its own for each call
	SandboxInline  SandboxMode = "inline"  // the program's own process: no boundary
)

// A SandboxConfig is the user's choice of the sandbox.
type SandboxConfig struct {
	Mode SandboxMode // "" means SandboxProcess
	// Required refuses to run a stranger's script where the system cannot keep
	// what the mode promises. Nil means the default of the system.
	Required *bool
}

// Confines reports whether nothing may run that the system does not confine: what
// the user says, and otherwise on Linux.
func (c SandboxConfig) Confines() bool {
	if c.Required != nil {
		return *c.Required
	}
	return runtime.GOOS == "linux"
}

// A SecretSource is where the value of a secret comes from: one of the two.
type SecretSource struct {
	Env  string // an environment variable
	File string // a file, by its absolute path
}

// LimitCaps are the most that a tool's own limits may ask for.
type LimitCaps struct {
	tool.Limits
	Timeout time.Duration // of one call
}

// RunsKept says which records of runs that have ended are kept. One goes as soon
// as a field says so; the zero value keeps all.
type RunsKept struct {
	For  time.Duration // those that ended within this time; 0 means however long ago
	Most int           // the newest so many; 0 means all
}

// maxSize is how long a config may be; [yaml.Parse] has the same bound.
const maxSize = yaml.MaxSize

// fieldReaders is every field of a config, and how it is read.
var fieldReaders = []struct {
	name    string
	project bool // a project may have it too
	read    func(*reader, value.Value) error
}{
	{"project_overrides_personal", false, (*reader).overrides},
	{"sandbox", false, (*reader).sandbox},
	{"allow", true, func(r *reader, v value.Value) error { return r.rules(tool.Allow, v) }},
	{"ask", true, func(r *reader, v value.Value) error { return r.rules(tool.Ask, v) }},
	{"deny", true, func(r *reader, v value.Value) error { return r.rules(tool.Deny, v) }},
	{"secrets", false, (*reader).secrets},
	{"http", false, (*reader).http},
	{"commands", false, (*reader).commands},
	{"limits", false, (*reader).limits},
	{"model", false, (*reader).model},
	{"runs", false, (*reader).runs},
}

// Options say where the user's config is. The zero value means that there is
// none.
type Options struct {
	Home string // the user's folder, with config.yaml; "" means none
	File string // a file to read in place of the config.yaml in Home; it must exist
}

// Read reads the user's config and that of the project at root; an empty
// root means no project. A config that is not there says nothing; one that is
// not right is an error, since what it denies would be allowed without it.
func Read(root string, o *Options) (Config, error) {
	var c Config
	file := o.File
	if file == "" && o.Home != "" {
		file = filepath.Join(o.Home, "config.yaml")
	}
	if file != "" {
		r := reader{to: &c, file: file, source: file, must: o.File != ""}
		if err := r.read(); err != nil {
			return Config{}, err
		}
	}
	if root == "" {
		return c, nil
	}
	file = filepath.Join(root, folder.Name, "config.yaml")
	if folder.Same(filepath.Dir(file), o.Home) {
		return c, nil // the user's own folder, seen from the folder it lies in
	}
	r := reader{to: &c, file: file, source: folder.Name + "/config.yaml", project: true, root: root}
	if err := r.read(); err != nil {
		return Config{}, err
	}
	return c, nil
}

// A reader reads one config file.
type reader struct {
	to      *Config
	file    string
	source  string // the file as people know it
	project bool   // it is a project's, which can only tighten
	root    string // of that project
	must    bool   // it must be there
}

func (r *reader) read() error {
	text, err := r.readBounded()
	if errors.Is(err, fs.ErrNotExist) && !r.must {
		return nil
	}
	if err != nil {
		var path *fs.PathError
		if errors.As(err, &path) {
			err = path.Err
		}
		err = value.Errorf(value.Invalid, "cannot be read: %w", err)
	} else {
		err = r.parse(text)
	}
	if err == nil {
		return nil
	}
	e := *value.ErrorOf(err, value.Invalid)
	e.Pos.File = r.file
	return &e
}

func (r *reader) parse(text string) error {
	v, err := yaml.Parse(text)
	if err != nil || v == nil {
		return err
	}
	fields, ok := v.(*value.Dict)
	if !ok {
		return value.Errorf(value.Invalid, "a config is a list of fields, as in project_overrides_personal: true")
	}
	for k, v := range fields.All() {
		name, _ := k.(string)
		if err := r.field(name, v); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) field(name string, v value.Value) error {
	var names []string
	for _, f := range fieldReaders {
		switch {
		case f.name == name && r.project && !f.project:
			return value.Errorf(value.Invalid, "'%s' is for the user to decide", name).WithHint("put it into the config.yaml of your own folder")
		case f.name == name && v == nil:
			return nil // a field whose lines are all comments
		case f.name == name:
			return f.read(r, v)
		case f.project || !r.project:
			names = append(names, f.name)
		}
	}
	return value.Errorf(value.Invalid, "there is no field '%s'%s", name, value.DidYouMean(name, names)).
		WithHint("the fields are %s", strings.Join(names, ", "))
}

func wrongType(field, want string, v value.Value) error {
	return value.Errorf(value.Invalid, "'%s' should be %s but got %s", field, want, value.TypeOf(v))
}

func (r *reader) overrides(v value.Value) error {
	yes, ok := v.(bool)
	if !ok {
		return wrongType("project_overrides_personal", "true or false", v)
	}
	r.to.ProjectOverridesPersonal = yes
	return nil
}

func (r *reader) sandbox(v value.Value) error {
	if fields, ok := v.(*value.Dict); ok {
		if err := onlyFields("sandbox", fields, "mode", "required"); err != nil {
			return err
		}
		if required, given := fields.Get("required"); given {
			yes, ok := required.(bool)
			if !ok {
				return wrongType("sandbox.required", "true or false", required)
			}
			r.to.Sandbox.Required = &yes
		}
		var given bool
		if v, given = fields.Get("mode"); !given {
			return nil
		}
	}
	text, _ := v.(string)
	modes := []string{string(SandboxProcess), string(SandboxStrict), string(SandboxInline)}
	if !slices.Contains(modes, text) {
		got := value.TypeOf(v)
		if text != "" {
			got = quoted(text) + value.DidYouMean(text, modes)
		}
		return value.Errorf(value.Invalid, "'sandbox' should be process, strict or inline but got %s", got)
	}
	r.to.Sandbox.Mode = SandboxMode(text)
	return nil
}

// rules reads the list of one verdict. A project's allow is read, so that a
// mistake in it is found, but counts for nothing: nobody grants himself
// anything.
func (r *reader) rules(verdict tool.Verdict, v value.Value) error {
	items, ok := value.Elements(v)
	if !ok {
		return wrongType(verdict.String(), `a list of rules, as in ["fs.read:docs/**"],`, v)
	}
	for i, item := range items {
		rule, err := r.rule(item)
		if err != nil {
			e := *value.ErrorOf(err, value.Invalid)
			e.Err = value.Errorf(value.Invalid, "rule %d of '%s': %s", i+1, verdict, e.Message()).Err
			e.Op = ""
			return &e
		}
		rule.Verdict, rule.Source = verdict, r.source
		if r.project && verdict == tool.Allow {
			continue
		}
		r.to.Rules = append(r.to.Rules, rule)
	}
	if r.project && verdict == tool.Allow && len(items) > 0 {
		r.to.Warnings = append(r.to.Warnings, r.source+": 'allow' counts for nothing in a project, which can only ask and deny")
	}
	return nil
}

func (r *reader) rule(v value.Value) (tool.Rule, error) {
	var rule tool.Rule
	text, isText := v.(string)
	if fields, ok := v.(*value.Dict); ok {
		if err := onlyFields("", fields, "tool", "capability"); err != nil {
			return rule, err
		}
		rule.Tool, text = fields.Text("tool"), fields.Text("capability")
		if err := checkRuleTool(fields); err != nil {
			return rule, err
		}
		if text == "" {
			return rule, value.Errorf(value.Invalid, "'capability' should say what the tool wants to do").
				WithHint(`as in {tool: deploy, capability: "shell:git"}`)
		}
	} else if !isText {
		return rule, value.Errorf(value.Invalid, "expected a capability, or a tool with a capability, but got %s", value.TypeOf(v)).
			WithHint(`as in "fs.write:out/**" or {tool: deploy, capability: "shell:git"}`)
	}
	var err error
	rule.Capability, err = tool.ParseCapability(text)
	return rule, err
}

// checkRuleTool checks the field tool of a rule: a tool's name, or @GROUP.
func checkRuleTool(fields *value.Dict) error {
	v, given := fields.Get("tool")
	name, ok := v.(string)
	switch {
	case !given:
		return nil
	case !ok:
		return wrongType("tool", "a tool's name, or @ and a group,", v)
	case strings.HasPrefix(name, "@") && len(name) > 1:
		return nil
	}
	return tool.CheckName(name)
}

func (r *reader) secrets(v value.Value) error {
	fields, ok := v.(*value.Dict)
	if !ok {
		return wrongType("secrets", "names with where their values come from, as in TOKEN: {env: MY_TOKEN},", v)
	}
	r.to.Secrets = map[string]SecretSource{}
	for k, v := range fields.All() {
		name, _ := k.(string)
		at := "secrets." + name
		if _, err := tool.ParseCapability("secret:" + name + "@example.com"); err != nil || name == "" || strings.Contains(name, "@") {
			return value.Errorf(value.Invalid, "'secrets' has %s, which is no name of a secret", quoted(name)).WithHint("names are words, as in API_TOKEN")
		}
		source, ok := v.(*value.Dict)
		if !ok {
			return wrongType(at, "{env: VARIABLE} or {file: PATH}", v)
		}
		if err := onlyFields(at, source, "env", "file"); err != nil {
			return err
		}
		s := SecretSource{Env: source.Text("env"), File: source.Text("file")}
		if (s.Env == "") == (s.File == "") || source.Len() != 1 {
			return value.Errorf(value.Invalid, "'%s' should be {env: VARIABLE} or {file: PATH}", at)
		}
		if s.File != "" && !filepath.IsAbs(s.File) {
			s.File = filepath.Join(filepath.Dir(r.file), s.File)
		}
		r.to.Secrets[name] = s
	}
	return nil
}

func (r *reader) http(v value.Value) error {
	fields, ok := v.(*value.Dict)
	if !ok {
		return wrongType("http", `fields, as in {private: ["10.0.0.0/8"]},`, v)
	}
	if err := onlyFields("http", fields, "private"); err != nil {
		return err
	}
	list, given := fields.Get("private")
	items, ok := value.Elements(list)
	if given && list != nil && !ok {
		return wrongType("http.private", "a list of addresses", list)
	}
	for _, item := range items {
		text, _ := item.(string)
		prefix, err := netip.ParsePrefix(text)
		if addr, notOne := netip.ParseAddr(text); notOne == nil && addr.Zone() == "" {
			prefix, err = netip.PrefixFrom(addr, addr.BitLen()), nil
		}
		if err != nil {
			return value.Errorf(value.Invalid, "'http.private' should hold addresses and blocks of them but has %s", value.FormatJSON(item, "")).
				WithHint(`as in ["127.0.0.1", "10.0.0.0/8"]; a host's name is not enough, since it can come to mean any address`)
		}
		r.to.PrivateHosts = append(r.to.PrivateHosts, prefix.Masked())
	}
	return nil
}

func (r *reader) commands(v value.Value) error {
	fields, ok := v.(*value.Dict)
	if !ok {
		return wrongType("commands", "names of commands, each with what it may be given,", v)
	}
	r.to.Commands = fields
	return nil
}

// limits reads caps on what tools may declare, in the units of declarations.
func (r *reader) limits(v value.Value) error {
	fields, ok := v.(*value.Dict)
	if !ok {
		return wrongType("limits", "fields, as in {memory: 268435456},", v)
	}
	if err := onlyFields("limits", fields, "steps", "cpu", "memory", "result", "timeout"); err != nil {
		return err
	}
	for k, v := range fields.All() {
		name, _ := k.(string)
		n, isInt := v.(int64)
		var err error
		switch name {
		case "cpu":
			r.to.Limits.CPU, err = capSeconds(name, v)
		case "timeout":
			r.to.Limits.Timeout, err = capSeconds(name, v)
		default:
			if !isInt || n <= 0 {
				err = value.Errorf(value.Invalid, "'limits.%s' should be a positive integer but got %s", name, value.FormatJSON(v, ""))
			}
		}
		if err != nil {
			return err
		}
		switch name {
		case "steps":
			r.to.Limits.Steps = n
		case "memory":
			r.to.Limits.Memory = n
		case "result":
			r.to.Limits.Result = int(min(n, 1<<31-1)) // an int of the smallest kind
		}
	}
	return nil
}

// capSeconds reads a time as tools declare it.
func capSeconds(name string, v value.Value) (time.Duration, error) {
	const longest = 24 * time.Hour
	seconds, ok := v.(float64)
	if n, isInt := v.(int64); isInt {
		seconds, ok = float64(n), true
	}
	if !ok || !(seconds > 0 && seconds <= longest.Seconds()) {
		return 0, value.Errorf(value.Invalid, "'limits.%s' should be more than 0 and at most %.0f seconds but got %s",
			name, longest.Seconds(), value.FormatJSON(v, ""))
	}
	return max(1, time.Duration(seconds*float64(time.Second))), nil
}

// onlyFields refuses fields that there are not; at names what has them.
func onlyFields(at string, fields *value.Dict, known ...string) error {
	of := ""
	if at != "" {
		of = "'" + at + "' has "
	}
	for k := range fields.All() {
		name, _ := k.(string)
		if !slices.Contains(known, name) {
			return value.Errorf(value.Invalid, "%sno field '%s'%s", of, name, value.DidYouMean(name, known)).
				WithHint("the fields are %s", strings.Join(known, ", "))
		}
	}
	return nil
}

func quoted(text string) string { return value.FormatJSON(text, "") }

// readBounded reads a config, and never more of it than one may have. A
// project's may be a stranger's, so no link leads out of it.
func (r *reader) readBounded() (string, error) {
	dir, name := filepath.Split(r.file)
	files := os.DirFS(filepath.Clean(dir))
	if r.project {
		root, err := os.OpenRoot(r.root)
		if err != nil {
			return "", err
		}
		defer root.Close()
		files, name = root.FS(), folder.Name+"/"+name
	}
	text, cut, err := folder.ReadHead(files, name, maxSize)
	if err == nil && cut {
		err = fmt.Errorf("longer than %d KB", maxSize>>10)
	}
	return string(text), err
}

func (r *reader) model(v value.Value) error {
	text, ok := v.(string)
	if !ok {
		return value.Errorf(value.Invalid, "model should be a name, as in openai:NAME, but is %s", value.TypeOf(v))
	}
	r.to.Model = text
	return nil
}

func (r *reader) runs(v value.Value) error {
	fields, ok := v.(*value.Dict)
	if !ok {
		return wrongType("runs", "fields, as in {keep_for: 720h, keep: 1000},", v)
	}
	if err := onlyFields("runs", fields, "keep_for", "keep"); err != nil {
		return err
	}
	if v, given := fields.Get("keep_for"); given {
		text, _ := v.(string)
		d, err := time.ParseDuration(text)
		if err != nil || d <= 0 {
			return value.Errorf(value.Invalid, "'runs.keep_for' should be a time but got %s", value.FormatJSON(v, "")).
				WithHint("in hours, minutes and seconds, as in 720h")
		}
		r.to.Runs.For = d
	}
	if v, given := fields.Get("keep"); given {
		n, ok := v.(int64)
		if !ok || n <= 0 {
			return value.Errorf(value.Invalid, "'runs.keep' should be a positive integer but got %s", value.FormatJSON(v, ""))
		}
		r.to.Runs.Most = int(min(n, 1<<31-1)) // an int of the smallest kind
	}
	return nil
}
