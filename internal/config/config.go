// Package config reads config.yaml, the user's and the project's.
//
// A project's config can only ask and deny; only the user's config can grant.
package config

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/internal/identity"
	"github.com/cassidy-run/cassidy/internal/protect"
	"github.com/cassidy-run/cassidy/internal/yaml"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Config is the merged config.yaml of user and project. The zero value is the
// default.
type Config struct {
	// ProjectOverridesPersonal lets a project's tool replace a personal one of the same
	// name; otherwise neither is used. Only the user's config sets it: a cloned project could
	// replace the user's tools.
	ProjectOverridesPersonal bool
	// Sandbox configures where scripts run. Only the user's config sets it.
	Sandbox SandboxConfig
	// Rules decide what tools may do: the user's rules, then those of the project,
	// which can only ask and deny.
	Rules []tool.Rule
	// TrustedSources and UntrustedSources are sources of text; see host.Options. Only the user's
	// config sets the trusted ones.
	TrustedSources, UntrustedSources []string
	// ProjectUntrusted are those of UntrustedSources that the project's config lists.
	ProjectUntrusted []string
	// Secrets are the sources of secrets, by name. Only the user's config sets them.
	Secrets map[string]SecretSource
	// PrivateHosts are the addresses in the user's own network that tools may access if
	// they are granted the host. Only the user's config sets them.
	PrivateHosts []netip.Prefix
	// Unprotected are names of [protect.Obeyed] that tools may write. Only the user's config sets them.
	Unprotected []string
	// Commands is the field commands of the user's config, unparsed, or nil.
	Commands *value.Dict
	// Model is the default model, as in openai:NAME; "" means none. Only the user's
	// config sets it.
	Model string
	// Format is the default format of the model's calls, and Docs the default length of the
	// descriptions of its tools; "" means none. RepeatInstructions repeats in each message how
	// to write calls. Only the user's config sets them.
	Format, Docs       string
	RepeatInstructions bool
	// Providers are where models are asked, by name. Only the user's config sets them: a
	// project must not choose where conversations and keys are sent.
	Providers map[string]Provider
	// Models are the sizes and prices of models, by PROVIDER:MODEL. Only the user's config
	// sets them.
	Models map[string]Model
	// Limits cap the limits that tools declare; zero fields cap nothing. Only the
	// user's config sets them.
	Limits LimitCaps
	// Runs configures the records of runs. Only the user's config sets it.
	Runs Runs
	// Server configures cassidy serve. Only the user's config sets it.
	Server Server
	// Engine is what records and executes the runs. Only the user's config sets it.
	Engine Engine
	// Warnings name the ignored parts of the configs.
	Warnings []string
}

// A SandboxMode is the isolation of scripts.
type SandboxMode string

const (
	SandboxProcess SandboxMode = "process" // a separate process that many calls share; the default
	SandboxStrict  SandboxMode = "strict"  // a separate process for each call
	SandboxInline  SandboxMode = "inline"  // the program's own process: no isolation
)

// A SandboxConfig is the user's choice of the sandbox.
type SandboxConfig struct {
	Mode SandboxMode // "" means SandboxProcess
	// Required rejects scripts of untrusted authors if the system cannot enforce the
	// mode. Nil means the default of the system.
	Required *bool
}

// Confines reports whether scripts run only if the system confines them. The default is
// true on Linux.
func (c SandboxConfig) Confines() bool {
	if c.Required != nil {
		return *c.Required
	}
	return runtime.GOOS == "linux"
}

// A SecretSource is the source of a secret. Exactly one field is set.
type SecretSource struct {
	Env     string // an environment variable
	File    string // a file, by its absolute path
	Keyring string // an entry of the system's keyring, which the program reads
}

// MaxSecret is the limit of a secret in a file, in bytes.
const MaxSecret = 64 << 10

// Read returns the value of the secret. env and keyring return that of a variable and of an entry of the keyring; either
// can be nil, which has none. A value that is not there is an error of kind NotFound.
func (s SecretSource) Read(env, keyring func(name string) (string, error)) (string, error) {
	switch {
	case s.Env != "" && env != nil:
		return env(s.Env)
	case s.Keyring != "" && keyring != nil:
		return keyring(s.Keyring)
	case s.File != "":
		f, err := os.Open(s.File)
		if err != nil {
			return "", value.ErrNotFound
		}
		defer f.Close()
		text, err := io.ReadAll(io.LimitReader(f, MaxSecret))
		if err != nil {
			return "", value.ErrNotFound
		}
		return strings.TrimRight(string(text), "\r\n"), nil
	}
	return "", value.ErrNotFound
}

// SecretFiles returns the files among the sources of secrets.
func SecretFiles(secrets map[string]SecretSource) (files []string) {
	for _, from := range secrets {
		if from.File != "" {
			files = append(files, from.File)
		}
	}
	return files
}

// LimitCaps cap the limits that tools declare.
type LimitCaps struct {
	tool.Limits
	Timeout time.Duration // of one call
	Host    int64         // bytes that all calls of a host may hold together in its process
}

// Runs says which records of ended runs are kept, and how long their questions can be
// answered. A record is deleted as soon as For or Most excludes it; the zero value keeps all.
type Runs struct {
	For          time.Duration // those that ended within this time; 0 means all
	Most         int           // the newest ones; 0 means all
	AnswerWithin time.Duration // from when it is asked; 0 means forever
}

// maxSize is the limit of a config, in bytes; [yaml.Parse] has the same.
const maxSize = yaml.MaxSize

// fieldReaders are the fields of a config and their readers.
var fieldReaders = []struct {
	name    string
	project bool // whether a project may set it
	read    func(*reader, value.Value) error
}{
	{"project_overrides_personal", false, (*reader).overrides},
	{"sandbox", false, (*reader).sandbox},
	{"allow", true, func(r *reader, v value.Value) error { return r.rules(tool.Allow, v) }},
	{"ask", true, func(r *reader, v value.Value) error { return r.rules(tool.Ask, v) }},
	{"deny", true, func(r *reader, v value.Value) error { return r.rules(tool.Deny, v) }},
	{"trusted_sources", false, func(r *reader, v value.Value) error { return sources("trusted_sources", v, &r.to.TrustedSources) }},
	{"untrusted_sources", true, func(r *reader, v value.Value) error { return sources("untrusted_sources", v, &r.to.UntrustedSources) }},
	{"secrets", false, (*reader).secrets},
	{"http", false, (*reader).http},
	{"commands", false, (*reader).commands},
	{"unprotected", false, (*reader).unprotected},
	{"limits", false, (*reader).limits},
	{"model", false, (*reader).model},
	{"format", false, func(r *reader, v value.Value) error { return oneOf("format", v, formats, &r.to.Format) }},
	{"docs", false, func(r *reader, v value.Value) error { return oneOf("docs", v, lengths, &r.to.Docs) }},
	{"repeat_instructions", false, (*reader).repeatInstructions},
	{"providers", false, (*reader).providers},
	{"models", false, (*reader).models},
	{"runs", false, (*reader).runs},
	{"server", false, (*reader).server},
	{"engine", false, (*reader).engine},
}

// Options locate the user's config. The zero value means no user's config.
type Options struct {
	Home string // the user's folder with config.yaml; "" means none
	File string // replaces the config.yaml in Home; it must exist
	// UserOnly leaves out the project's config. Rules for the project are read.
	UserOnly bool
}

// ProjectSource is the Source of the rules in a project's config.
const ProjectSource = folder.Name + "/config.yaml"

// Read reads the user's config and that of the project at root; an empty root means no
// project. A missing config is empty. An invalid one is an error, since without it what
// it denies would be allowed.
func Read(root string, o *Options) (Config, error) { return readListing(root, o, nil) }

// readListing is Read, and adds the rules that are in force to list, unless that is nil.
func readListing(root string, o *Options, list *[]ListedRule) (Config, error) {
	var c Config
	for _, r := range readers(root, o) {
		users := len(c.UntrustedSources)
		r.to, r.list = &c, list
		if err := r.read(); err != nil {
			return Config{}, err
		}
		if r.project {
			c.ProjectUntrusted = slices.Clone(c.UntrustedSources[users:])
		}
	}
	return c, nil
}

// readers returns the readers of the user's config and of that of the project.
func readers(root string, o *Options) (all []*reader) {
	if file := o.UserFile(); file != "" {
		all = append(all, &reader{file: file, source: file, root: root, must: o.File != ""})
	}
	file := filepath.Join(root, folder.Name, "config.yaml")
	if root != "" && !o.UserOnly && !folder.Same(filepath.Dir(file), o.Home) { // else the user's own folder is in root
		all = append(all, &reader{file: file, source: ProjectSource, project: true, root: root})
	}
	return all
}

// A reader reads one config file.
type reader struct {
	to      *Config
	file    string
	source  string   // the name of the file in messages
	project bool     // whether it is a project's
	root    string   // of the project, or ""
	id      string   // of the project's folder, once a rule names one
	others  int      // the rules that were made for another folder at the same path
	at      []string // the path to the field that is read, for the line of an error
	must    bool     // whether it must exist

	list       *[]ListedRule // gets the rules that are in force; or nil
	everywhere bool          // rules for other projects are read as if they were for this one
}

func (r *reader) read() error {
	text, err := r.readBounded()
	if errors.Is(err, fs.ErrNotExist) && !r.must {
		return nil
	}
	if err != nil {
		e := folder.FileError(value.Errorf(value.Invalid, "read config: %w", folder.Cause(err)), r.file)
		if !r.project && !r.must {
			return e.WithHint(folder.HomeHint)
		}
		return e
	}
	return r.parseFile(text)
}

// parseFile is parse of the text of the file. Errors have their place.
func (r *reader) parseFile(text string) error {
	if err := r.parse(text); err != nil {
		return r.placed(text, err)
	}
	return nil
}

// placed returns an error of the text of the file with its place.
func (r *reader) placed(text string, err error) error {
	e := folder.FileError(err, r.file)
	if e.Hint == "" && value.ErrorOf(err, value.Invalid).Kind == value.Invalid {
		e.Hint = "edit " + r.file
	}
	if e.Pos.Line == 0 {
		e.Pos.Line = yaml.Line(text, r.at...)
	}
	return e
}

func (r *reader) parse(text string) error {
	fields, err := fieldsOf(text)
	if err != nil {
		return err
	}
	for k, v := range fields.All() {
		name, _ := k.(string)
		r.at = []string{name}
		if err := r.field(name, v); err != nil {
			return err
		}
	}
	return r.checkModels()
}

// fieldsOf returns the fields in a text of a config.
func fieldsOf(text string) (*value.Dict, error) {
	v, err := yaml.Parse(text)
	if err != nil || v == nil {
		return nil, err
	}
	fields, ok := v.(*value.Dict)
	if !ok {
		return nil, value.Errorf(value.Invalid, "invalid config: expected fields, as in project_overrides_personal: true")
	}
	return fields, nil
}

func (r *reader) field(name string, v value.Value) error {
	var names []string
	for _, f := range fieldReaders {
		switch {
		case f.name == name && r.project && !f.project:
			return value.Errorf(value.Invalid, "only the user's config can set '%s'", name).WithHint("move the field to your own config.yaml, in ~/.cassidy or $CASSIDY_HOME")
		case f.name == name && v == nil:
			return nil // a field whose lines are all comments
		case f.name == name:
			return f.read(r, v)
		case f.project || !r.project:
			names = append(names, f.name)
		}
	}
	return value.Errorf(value.Invalid, "unknown field '%s'%s", name, value.DidYouMean(name, names)).
		WithHint("the fields are %s", strings.Join(names, ", "))
}

func wrongType(field, want string, v value.Value) error {
	return value.Errorf(value.Invalid, "'%s' should be %s but got %s", field, want, value.TypeOf(v))
}

// object reads a field with these fields.
func object(field, want string, v value.Value, known ...string) (*value.Dict, error) {
	fields, ok := v.(*value.Dict)
	if !ok {
		return nil, wrongType(field, want, v)
	}
	return fields, onlyFields(field, fields, known...)
}

func boolean(field string, v value.Value) (bool, error) {
	yes, ok := v.(bool)
	if !ok {
		return false, wrongType(field, "true or false", v)
	}
	return yes, nil
}

func positive(field string, v value.Value) (int64, error) {
	n, ok := v.(int64)
	if !ok || n <= 0 {
		e := value.Errorf(value.Invalid, "'%s' should be a positive integer but got %s", field, value.FormatJSON(v, ""))
		if _, isText := v.(string); isText {
			e = e.WithHint("write a number without a unit, such as 131072")
		}
		return 0, e
	}
	return n, nil
}

func (r *reader) overrides(v value.Value) (err error) {
	r.to.ProjectOverridesPersonal, err = boolean("project_overrides_personal", v)
	return err
}

func (r *reader) sandbox(v value.Value) error {
	if fields, ok := v.(*value.Dict); ok {
		if err := onlyFields("sandbox", fields, "mode", "required"); err != nil {
			return err
		}
		if required, given := fields.Get("required"); given {
			yes, err := boolean("sandbox.required", required)
			if err != nil {
				return err
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
		return value.Errorf(value.Invalid, "'sandbox' should be \"process\", \"strict\" or \"inline\" but got %s", got)
	}
	r.to.Sandbox.Mode = SandboxMode(text)
	return nil
}

// rules reads the list of one verdict. A project's allow is checked for errors and
// ignored: projects cannot grant themselves anything.
func (r *reader) rules(verdict tool.Verdict, v value.Value) error {
	items, ok := value.Elements(v)
	if !ok {
		return wrongType(verdict.String(), `a list of rules, as in ["fs.read:docs/**"],`, v)
	}
	for i, item := range items {
		rule, here, err := r.rule(verdict, item)
		if err != nil {
			e := *value.ErrorOf(err, value.Invalid)
			e.Err = value.Errorf(value.Invalid, "rule %d of '%s': %s", i+1, verdict, e.Message()).Err
			e.Op = ""
			return &e
		}
		rule.Verdict, rule.Source = verdict, r.source
		if r.project && verdict == tool.Allow || !here {
			continue
		}
		r.to.Rules = append(r.to.Rules, rule)
		if r.list != nil {
			*r.list = append(*r.list, r.listed(rule, i, item))
		}
	}
	if r.others > 0 {
		r.to.Warnings = append(r.to.Warnings, fmt.Sprintf("%s: ignored %d of the rules in 'allow' for %s: they were added for another folder at this path", r.source, r.others, r.root))
		r.others = 0
	}
	if r.project && verdict == tool.Allow && len(items) > 0 {
		r.to.Warnings = append(r.to.Warnings, r.source+": 'allow' is ignored in a project's config; only 'ask' and 'deny' are read")
	}
	return nil
}

// rule reads a rule of a verdict. here is false if it is for another project.
func (r *reader) rule(verdict tool.Verdict, v value.Value) (rule tool.Rule, here bool, err error) {
	text, isText := v.(string)
	here = true
	if fields, ok := v.(*value.Dict); ok {
		known := []string{"tool", "capability"}
		if verdict == tool.Allow && !r.project {
			known = append(known, "project", "id")
		}
		if err := onlyFields("", fields, known...); err != nil {
			return rule, false, err
		}
		rule.Tool, text = fields.Text("tool"), fields.Text("capability")
		if err := checkRuleTool(fields); err != nil {
			return rule, false, err
		}
		if text == "" {
			return rule, false, value.Errorf(value.Invalid, "the field 'capability' is missing").
				WithHint(`write the rule as {tool: deploy, capability: "shell:git"}`)
		}
		if at, given := fields.Get("project"); given {
			dir, _ := at.(string)
			if !filepath.IsAbs(dir) {
				return rule, false, value.Errorf(value.Invalid, "'project' should be the absolute path of a folder but got %s", value.FormatJSON(at, ""))
			}
			here = r.everywhere || r.root != "" && folder.Same(dir, r.root)
		}
		if id, given := fields.Get("id"); given {
			if _, ok := fields.Get("project"); !ok {
				return rule, false, value.Errorf(value.Invalid, "the field 'id' is set, but 'project' is missing").
					WithHint("add 'project': the absolute path of the folder with this id")
			}
			if here && !r.everywhere && !r.isFolder(id) {
				here = false
				r.others++
			}
		}
	} else if !isText {
		return rule, false, value.Errorf(value.Invalid, "a rule should be a capability, or a tool and a capability, but got %s", value.TypeOf(v)).
			WithHint(`write "fs.write:out/**" or {tool: deploy, capability: "shell:git"}`)
	}
	rule.Capability, err = verdict.ParseCapability(text)
	return rule, here, err
}

// isFolder reports whether an id is that of the project's folder.
func (r *reader) isFolder(id value.Value) bool {
	if r.id == "" {
		r.id = "none"
		if m, err := identity.Of(r.root); err == nil && m.ID != "" {
			r.id = m.Text()
		}
	}
	return r.id == id
}

// checkRuleTool checks the field tool of a rule: a tool's name, or @GROUP.
func checkRuleTool(fields *value.Dict) error {
	v, given := fields.Get("tool")
	name, ok := v.(string)
	switch {
	case !given:
		return nil
	case !ok:
		return wrongType("tool", "the name of a tool, or @GROUP,", v)
	case strings.HasPrefix(name, "@") && len(name) > 1:
		return nil
	}
	return tool.CheckCallName(name)
}

func (r *reader) secrets(v value.Value) error {
	fields, ok := v.(*value.Dict)
	if !ok {
		return wrongType("secrets", "an object, as in {TOKEN: {env: MY_TOKEN}},", v)
	}
	r.to.Secrets = map[string]SecretSource{}
	for k, v := range fields.All() {
		name, _ := k.(string)
		at := "secrets." + name
		if _, err := tool.ParseCapability("secret:" + name + "@example.com"); err != nil || name == "" || strings.Contains(name, "@") {
			return value.Errorf(value.Invalid, "invalid name of a secret in 'secrets': %s", quoted(name)).WithHint("use letters, digits and _, as in API_TOKEN")
		}
		const want = "{env: VARIABLE}, {file: PATH} or {keyring: NAME}"
		source, err := object(at, want, v, "env", "file", "keyring")
		if err != nil {
			return err
		}
		s := SecretSource{Env: source.Text("env"), File: source.Text("file"), Keyring: source.Text("keyring")}
		if cmp.Or(s.Env, s.File, s.Keyring) == "" || source.Len() != 1 {
			return value.Errorf(value.Invalid, "'%s' should be %s", at, want)
		}
		if s.File != "" && !filepath.IsAbs(s.File) {
			s.File = filepath.Join(filepath.Dir(r.file), s.File)
		}
		r.to.Secrets[name] = s
	}
	return nil
}

// sources reads a list of sources of text. The host checks what they name.
func sources(field string, v value.Value, to *[]string) error {
	items, ok := value.Elements(v)
	if !ok {
		return wrongType(field, `a list of sources, as in ["http:api.example.com"],`, v)
	}
	for _, item := range items {
		text, _ := item.(string)
		c, err := tool.ParseCapability(text)
		if err != nil || c.Target == "" || c.Name != "http" && c.Name != "tool" && c.Name != "fs.read" {
			return value.Errorf(value.Invalid, "invalid source in '%s': %s", field, value.FormatJSON(item, "")).
				WithHint("write http:HOST, tool:NAME, tool:@GROUP or fs.read:GLOB, as in http:api.example.com")
		}
		*to = append(*to, text)
	}
	return nil
}

func (r *reader) unprotected(v value.Value) error {
	items, ok := value.Elements(v)
	if !ok {
		return wrongType("unprotected", `a list of names, as in ["AGENTS.md", ".vscode"],`, v)
	}
	for _, item := range items {
		name, _ := item.(string)
		if known := protect.Obeyed(); !slices.Contains(known, name) {
			return value.Errorf(value.Invalid, "invalid name in 'unprotected': %s%s", value.FormatJSON(item, ""), value.DidYouMean(name, known)).
				WithHint("the names are %s", strings.Join(known, ", "))
		}
		r.to.Unprotected = append(r.to.Unprotected, name)
	}
	return nil
}

func (r *reader) http(v value.Value) error {
	fields, err := object("http", `an object, as in {private: ["10.0.0.0/8"]},`, v, "private")
	if err != nil {
		return err
	}
	list, given := fields.Get("private")
	items, ok := value.Elements(list)
	if given && list != nil && !ok {
		return wrongType("http.private", `a list of addresses, as in ["127.0.0.1", "10.0.0.0/8"],`, list)
	}
	for _, item := range items {
		text, _ := item.(string)
		prefix, err := netip.ParsePrefix(text)
		if addr, notOne := netip.ParseAddr(text); notOne == nil && addr.Zone() == "" {
			prefix, err = netip.PrefixFrom(addr, addr.BitLen()), nil
		}
		if err != nil {
			return value.Errorf(value.Invalid, "invalid address in 'http.private': %s", value.FormatJSON(item, "")).
				WithHint(`write IP addresses or blocks, as in ["127.0.0.1", "10.0.0.0/8"]; host names are not supported`)
		}
		r.to.PrivateHosts = append(r.to.PrivateHosts, prefix.Masked())
	}
	return nil
}

func (r *reader) commands(v value.Value) error {
	fields, ok := v.(*value.Dict)
	if !ok {
		return wrongType("commands", "an object with the names of commands as its fields,", v)
	}
	r.to.Commands = fields
	return nil
}

// limits reads caps for tools, in the units of declarations.
func (r *reader) limits(v value.Value) error {
	fields, err := object("limits", "an object, as in {memory: 268435456},", v, "steps", "cpu", "memory", "result", "requests", "timeout", "host_memory")
	if err != nil {
		return err
	}
	for k, v := range fields.All() {
		name, _ := k.(string)
		at, n := "limits."+name, int64(0)
		switch name {
		case "cpu":
			r.to.Limits.CPU, err = capSeconds(at, v)
		case "timeout":
			r.to.Limits.Timeout, err = capSeconds(at, v)
		case "steps":
			r.to.Limits.Steps, err = positive(at, v)
		case "memory":
			r.to.Limits.Memory, err = positive(at, v)
		case "host_memory":
			r.to.Limits.Host, err = positive(at, v)
		case "result":
			n, err = positive(at, v)
			r.to.Limits.Result = int(min(n, 1<<31-1)) // fits an int on all systems
		case "requests":
			n, err = positive(at, v)
			r.to.Limits.Requests = int(min(n, 1<<31-1))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// capSeconds reads a duration as tools declare it.
func capSeconds(field string, v value.Value) (time.Duration, error) {
	const longest = 24 * time.Hour
	seconds, ok := v.(float64)
	if n, isInt := v.(int64); isInt {
		seconds, ok = float64(n), true
	}
	if !ok || !(seconds > 0 && seconds <= longest.Seconds()) {
		return 0, value.Errorf(value.Invalid, "'%s' should be more than 0 and at most %.0f seconds but got %s",
			field, longest.Seconds(), value.FormatJSON(v, ""))
	}
	return max(1, time.Duration(seconds*float64(time.Second))), nil
}

// onlyFields rejects unknown fields; at names the object.
func onlyFields(at string, fields *value.Dict, known ...string) error {
	if at != "" {
		at += "."
	}
	for k := range fields.All() {
		name, _ := k.(string)
		if !slices.Contains(known, name) {
			return value.Errorf(value.Invalid, "unknown field '%s%s'%s", at, name, value.DidYouMean(name, known)).
				WithHint("the fields are %s", strings.Join(known, ", "))
		}
	}
	return nil
}

func quoted(text string) string { return value.FormatJSON(text, "") }

// readBounded reads a config up to its limit. A project's may be untrusted, so links
// cannot lead out of it.
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
		err = fmt.Errorf("the file is longer than %d KB", maxSize>>10)
	}
	return string(text), err
}

func (r *reader) model(v value.Value) error {
	text, ok := v.(string)
	if !ok {
		return wrongType("model", "the name of a model, as in openai:NAME,", v)
	}
	r.to.Model = text
	return nil
}

// The values of the fields format and docs.
var (
	formats = []string{"pure_json", "xml_json", "markdown", "native", "code"}
	lengths = []string{"auto", "detailed", "brief"}
)

// oneOf reads a field that is one of some words.
func oneOf(field string, v value.Value, known []string, to *string) error {
	text, ok := v.(string)
	if !ok || !slices.Contains(known, text) {
		return value.Errorf(value.Invalid, "'%s' should be one of \"%s\" but got %s%s", field, strings.Join(known, `", "`), value.FormatJSON(v, ""), value.DidYouMean(text, known))
	}
	*to = text
	return nil
}

func (r *reader) repeatInstructions(v value.Value) (err error) {
	on, ok := v.(bool)
	if !ok {
		return wrongType("repeat_instructions", "true or false", v)
	}
	r.to.RepeatInstructions = on
	return nil
}

// duration returns a time in the fields of a section, or 0.
func duration(section, name string, fields *value.Dict) (time.Duration, error) {
	v, given := fields.Get(name)
	if !given {
		return 0, nil
	}
	text, _ := v.(string)
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, value.Errorf(value.Invalid, "'%s.%s' should be a duration but got %s", section, name, value.FormatJSON(v, "")).
			WithHint("use hours, minutes and seconds, as in %s: 720h or %s: 1h30m", name, name)
	}
	return d, nil
}

func (r *reader) runs(v value.Value) error {
	fields, err := object("runs", "an object, as in {keep_for: 720h, keep: 1000},", v, "keep_for", "keep", "answer_within")
	if err != nil {
		return err
	}
	if r.to.Runs.For, err = duration("runs", "keep_for", fields); err != nil {
		return err
	}
	if r.to.Runs.AnswerWithin, err = duration("runs", "answer_within", fields); err != nil {
		return err
	}
	if v, given := fields.Get("keep"); given {
		n, err := positive("runs.keep", v)
		if err != nil {
			return err
		}
		r.to.Runs.Most = int(min(n, 1<<31-1)) // fits an int on all systems
	}
	return nil
}
