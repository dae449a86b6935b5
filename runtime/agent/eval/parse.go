package eval

import (
	"cmp"
	"math"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/internal/yaml"
	"github.com/cassidy-run/cassidy/runtime/agent/decision"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// MaxRepeat is the limit of Suite.Repeat: it bounds the cost of a typo.
const MaxRepeat = 100

// Faults are all errors of an eval file, in the order of its lines.
type Faults []*value.Error

// Error implements error: each fault is on a line.
func (f Faults) Error() string {
	return strings.Join(value.Map(f, func(e *value.Error) string { return e.Error() }), "\n")
}

// Unwrap makes the faults errors of kind Invalid for [errors.Is].
func (f Faults) Unwrap() []error {
	return value.Map(f, func(e *value.Error) error { return e })
}

// Parse reads an eval file. name is that of the file in errors. The error is of type [Faults] and
// has all errors of the file, each with its line.
func Parse(name, text string) (*Suite, error) {
	r := &reader{file: name, text: text}
	v, err := yaml.Parse(text)
	if err != nil {
		e := *value.ErrorOf(err, value.Invalid)
		e.Pos.File = name
		return nil, Faults{&e}
	}
	s := r.suite(node{r, nil, v})
	if len(r.faults) == 0 {
		return s, nil
	}
	slices.SortStableFunc(r.faults, func(a, b *value.Error) int { return cmp.Compare(a.Pos.Line, b.Pos.Line) })
	return nil, r.faults
}

// A reader reads one eval file, and collects its faults.
type reader struct {
	file, text string
	faults     Faults
}

// A node is a value of the file, with the path to it.
type node struct {
	*reader
	path []string
	v    value.Value
}

// fault adds a fault at the line of the node.
func (n node) fault(format string, args ...any) {
	e := value.Errorf(value.Invalid, format, args...)
	e.Pos = value.Position{File: n.file, Line: max(1, yaml.Line(n.text, n.path...))}
	n.faults = append(n.faults, e)
}

// hint adds a hint to the last fault.
func (n node) hint(format string, args ...any) {
	last := len(n.faults) - 1
	n.faults[last] = n.faults[last].WithHint(format, args...)
}

// wrong adds the fault of a wrong type.
func (n node) wrong(want string) {
	n.fault("'%s' should be %s but got %s", n.name(), want, value.TypeOf(n.v))
}

// name names the node in messages: the last field on the path to it.
func (n node) name() string {
	name, index := "the file", ""
	for _, p := range n.path {
		if _, err := strconv.Atoi(p); err == nil {
			index = "[" + p + "]"
			continue
		}
		name, index = p, ""
	}
	return name + index
}

func (n node) at(name string, v value.Value) node {
	return node{n.reader, append(slices.Clone(n.path), name), v}
}

// A field reads the field of a dict.
type field struct {
	name string
	read func(node)
}

// fields reads a dict with these fields. An unknown one is a fault. It returns the names that
// were given, also if they were misspelled, or nil if the node is not a dict.
func (n node) fields(want string, known ...field) []string {
	d, ok := n.v.(*value.Dict)
	if !ok {
		n.wrong(want)
		return nil
	}
	names := value.Map(known, func(f field) string { return f.name })
	given := []string{}
	for k, v := range d.All() {
		name, _ := k.(string)
		child := n.at(value.Display(k), v)
		i := slices.Index(names, name)
		if i < 0 {
			child.fault("unknown key '%s'%s", value.Display(k), value.DidYouMean(name, names))
			child.hint("the keys here are %s", strings.Join(names, ", "))
			given = append(given, value.Nearest(name, names)) // one slip is one fault
			continue
		}
		given = append(given, name)
		known[i].read(child)
	}
	return given
}

// items returns the elements of a list.
func (n node) items(want string) []node {
	list, ok := n.v.(value.List)
	if !ok {
		n.wrong(want)
		return nil
	}
	nodes := make([]node, len(list))
	for i, v := range list {
		nodes[i] = n.at(strconv.Itoa(i), v)
	}
	return nodes
}

// string returns a text that is not empty.
func (n node) string() string {
	text, ok := n.v.(string)
	switch {
	case !ok:
		n.wrong("a string")
	case strings.TrimSpace(text) == "":
		n.fault("'%s' is empty", n.name())
	}
	return text
}

// scalar returns a text, also that of a number or of true and false.
func (n node) scalar() string {
	switch v := n.v.(type) {
	case string:
		return v
	case bool, int64, float64:
		return value.FormatJSON(v, "")
	}
	n.wrong("a string")
	return ""
}

// list returns the elements of a list, or the node alone.
func (n node) list() []node {
	if _, many := n.v.(value.List); many {
		return n.items("")
	}
	return []node{n}
}

func (n node) scalars() []string { return value.Map(n.list(), node.scalar) }

// texts returns the texts of a list, or the one text. It reports texts that are repeated.
func (n node) texts() []string {
	texts := []string{}
	for _, item := range n.list() {
		text := item.string()
		if slices.Contains(texts, text) {
			item.fault("'%s' contains %s twice", n.name(), quote(text))
		}
		texts = append(texts, text)
	}
	return texts
}

func (n node) count(most int) int {
	i, ok := n.v.(int64)
	if !ok || i < 1 || i > int64(most) {
		n.fault("'%s' should be a number from 1 to %d but got %s", n.name(), most, value.FormatJSON(n.v, ""))
	}
	return int(i)
}

func (n node) bool() bool {
	b, ok := n.v.(bool)
	if !ok {
		n.wrong("true or false")
	}
	return b
}

func (n node) dollars() float64 {
	amount, ok := n.v.(float64)
	if i, whole := n.v.(int64); whole {
		amount, ok = float64(i), true
	}
	if !ok || !(amount > 0) || math.IsInf(amount, 0) {
		n.fault("'%s' should be a positive amount in US dollars but got %s", n.name(), value.FormatJSON(n.v, ""))
	}
	return amount
}

func (n node) duration() time.Duration {
	d, err := time.ParseDuration(n.scalar())
	if err != nil || d <= 0 {
		n.fault("'%s' should be a positive duration but got %s", n.name(), value.FormatJSON(n.v, ""))
		n.hint("write it with a unit, as in 90s or 5m")
	}
	return d
}

// suite reads the file.
func (r *reader) suite(n node) *Suite {
	s, common := &Suite{}, Task{}
	var tasks node
	given := n.fields("an object with the key tasks,",
		field{"name", func(n node) { s.Name = n.string() }},
		field{"models", func(n node) { s.Models = n.texts() }},
		field{"formats", func(n node) { s.Formats = n.formats() }},
		field{"policies", func(n node) { s.Policies = n.texts() }},
		field{"agents", func(n node) { s.Agents = n.texts() }},
		field{"repeat", func(n node) { s.Repeat = n.count(MaxRepeat) }},
		field{"judge", func(n node) { s.Judge = n.string() }},
		field{"tools", func(n node) { common.Tools = n.tools() }},
		field{"limits", func(n node) { common.Limits = n.limits() }},
		field{"files", func(n node) { common.Files = n.files() }},
		field{"folder", func(n node) { common.Folder = n.folder() }},
		field{"tasks", func(n node) { tasks = n }},
	)
	if tasks.reader == nil {
		if given != nil && !slices.Contains(given, "tasks") {
			n.fault("'tasks' is missing")
			n.hint("add the key tasks with a list of tasks, each with name, task and checks")
		}
		return s
	}
	items := tasks.items("a list of tasks")
	if len(items) == 0 {
		tasks.fault("the list 'tasks' is empty")
		tasks.hint("add a task with the keys name, task and checks")
	}
	lines := map[string]bool{}
	for _, item := range items {
		t := item.task(common)
		if t.Name != "" && lines[t.Name] {
			item.fault("two tasks have the name %s", quote(t.Name))
		}
		lines[t.Name] = true
		s.Tasks = append(s.Tasks, t)
	}
	return s
}

// knownFormats are the formats that a file can name.
var knownFormats = []string{
	string(decision.PureJSON), string(decision.XMLJSON), string(decision.Markdown), string(decision.Native), string(decision.Code), string(AllFormats),
}

func (n node) formats() (formats []decision.Format) {
	for _, item := range n.list() {
		name := item.string()
		if name != "" && !slices.Contains(knownFormats, name) {
			item.fault("unknown format %s%s", quote(name), value.DidYouMean(name, knownFormats))
			item.hint("use one of: \"%s\"", strings.Join(knownFormats, `", "`))
		}
		formats = append(formats, decision.Format(name))
	}
	return formats
}

// tools reads words for the tools: none is an empty list, and auto all of them.
func (n node) tools() []string {
	words := n.texts()
	switch {
	case len(words) == 1 && words[0] == "none":
		return []string{}
	case len(words) == 0 || slices.Equal(words, []string{"auto"}):
		return nil
	}
	return words
}

// task reads a task. It has the tools, limits, folder and files of common, unless it replaces them.
func (n node) task(common Task) Task {
	t, files := common, map[string]string(nil)
	given := n.fields("an object with the keys name, task and checks,",
		field{"name", func(n node) { t.Name = n.taskName() }},
		field{"task", func(n node) { t.Prompt = n.string() }},
		field{"tools", func(n node) { t.Tools = n.tools() }},
		field{"policy", func(n node) { t.Policy = n.string() }},
		field{"agent", func(n node) { t.Agent = n.string() }},
		field{"files", func(n node) { files = n.files() }},
		field{"folder", func(n node) { t.Folder = n.folder() }},
		field{"limits", func(n node) { t.Limits = n.limits().or(common.Limits) }},
		field{"checks", func(n node) { t.Checks = n.checks() }},
	)
	if given == nil {
		return t
	}
	for _, name := range []string{"name", "task"} {
		if !slices.Contains(given, name) {
			n.fault("the task %shas no key '%s'", spaced(quoteIf(t.Name)), name)
		}
	}
	t.Files = merged(common.Files, files)
	return t
}

func quoteIf(text string) string {
	if text == "" {
		return ""
	}
	return quote(text)
}

func spaced(text string) string {
	if text == "" {
		return ""
	}
	return text + " "
}

func merged(common, own map[string]string) map[string]string {
	all := map[string]string{}
	for _, files := range []map[string]string{common, own} {
		for name, text := range files {
			all[name] = text
		}
	}
	return all
}

// taskName reads the name of a task, which is a part of the names of its cases.
func (n node) taskName() string {
	name := n.string()
	if strings.ContainsAny(name, "/\n") {
		n.fault("the task name %s contains a slash or a line break", quote(name))
	}
	return name
}

func (n node) files() map[string]string {
	d, ok := n.v.(*value.Dict)
	if !ok {
		n.wrong(`an object with the texts of files, as in {"notes.md": "text"},`)
		return nil
	}
	files := map[string]string{}
	for k, v := range d.All() {
		name, child := value.Display(k), n.at(value.Display(k), v)
		if err := checkPath(name); err != nil {
			child.fault("%s", value.ErrorOf(err, value.Invalid).Message())
		}
		for other := range files {
			if strings.HasPrefix(other, name+"/") || strings.HasPrefix(name, other+"/") {
				child.fault("the files %s and %s cannot both exist: a file cannot contain a file", quote(name), quote(other))
			}
		}
		files[name] = child.scalar()
	}
	return files
}

func (n node) folder() string {
	folder := n.string()
	clean := path.Clean(folder)
	if folder != "" && clean != "." {
		if err := checkPath(clean); err != nil {
			n.fault("invalid folder %s", quote(folder))
			n.hint("write a path relative to the folder of the eval file, with slashes and without .., such as fixtures/shop")
		}
	}
	return clean
}

func (n node) limits() (l Limits) {
	const most = 1 << 30
	n.fields("an object with limits",
		field{"iterations", func(n node) { l.Iterations = n.count(10_000) }},
		field{"timeout", func(n node) { l.Timeout = n.duration() }},
		field{"cost", func(n node) { l.CostUSD = n.dollars() }},
		field{"tokens", func(n node) { l.Tokens = n.count(most) }},
		field{"requests", func(n node) { l.Requests = n.count(most) }},
	)
	return l
}

// or returns the limits with those of other for the zero fields.
func (l Limits) or(other Limits) Limits {
	return Limits{
		Ceilings: l.Ceilings.Or(other.Ceilings), Iterations: cmp.Or(l.Iterations, other.Iterations), Timeout: cmp.Or(l.Timeout, other.Timeout),
	}
}

func (n node) checks() (checks []Check) {
	for _, item := range n.items("a list of checks") {
		checks = append(checks, item.check()...)
	}
	return checks
}

// check reads an element of checks, which can have several checks.
func (n node) check() (checks []Check) {
	add := func(read func(node) Check) func(node) {
		return func(n node) { checks = append(checks, read(n)) }
	}
	n.fields("a check, such as answer: {contains: text},",
		field{"answer", add(func(n node) Check { m := n.match(); return Check{Answer: &m} })},
		field{"file", add(func(n node) Check { return Check{File: n.fileCheck()} })},
		field{"command", add(func(n node) Check { return Check{Command: n.commandCheck()} })},
		field{"call", add(func(n node) Check { return Check{Call: n.callCheck()} })},
		field{"not_called", add(func(n node) Check { return Check{NotCalled: n.string()} })},
		field{"judge", add(func(n node) Check { return Check{Judge: n.string()} })},
	)
	if d, ok := n.v.(*value.Dict); ok && d.Len() == 0 {
		n.fault("a check is empty")
		n.hint("write a check such as answer: {contains: text}")
	}
	return checks
}

// match reads the condition for an answer: a text that it contains, or an object.
func (n node) match() (m Match) {
	if _, ok := n.v.(*value.Dict); !ok {
		m.Contains = n.scalars()
		return m
	}
	if given := n.fields("", m.fields()...); len(given) == 0 {
		n.fault("'%s' has no condition", n.name())
		n.hint("add equals, contains, lacks or matches")
	}
	return m
}

// fields are those of a match.
func (m *Match) fields(more ...field) []field {
	return append(more,
		field{"equals", func(n node) { text := n.scalar(); m.Equals = &text }},
		field{"contains", func(n node) { m.Contains = n.scalars() }},
		field{"lacks", func(n node) { m.Lacks = n.scalars() }},
		field{"matches", func(n node) { m.Matches = n.regexp() }},
	)
}

func (n node) regexp() *regexp.Regexp {
	re, err := regexp.Compile(n.string())
	if err != nil {
		n.fault("'%s' is not a regular expression: %s", n.name(), strings.TrimPrefix(err.Error(), "error parsing regexp: "))
		n.hint("use the syntax of Go and RE2, in single quotes")
	}
	return re
}

func (n node) fileCheck() *FileCheck {
	c := &FileCheck{Exists: true}
	if text, ok := n.v.(string); ok { // the file exists
		c.Path = n.checkedPath(text)
		return c
	}
	given := n.fields("a path, or an object with the key path,", c.fields(
		field{"path", func(n node) { c.Path = n.checkedPath(n.string()) }},
		field{"exists", func(n node) { c.Exists = n.bool() }},
	)...)
	if given != nil && !slices.Contains(given, "path") {
		n.fault("the check 'file' has no key 'path'")
	}
	if !c.Exists && c.any() {
		n.fault("the check 'file' has exists: false, so it cannot have other conditions")
	}
	return c
}

func (n node) checkedPath(text string) string {
	if err := checkPath(text); err != nil && text != "" {
		n.fault("%s", value.ErrorOf(err, value.Invalid).Message())
	}
	return text
}

func (n node) commandCheck() *CommandCheck {
	c := &CommandCheck{}
	if _, ok := n.v.(string); ok {
		c.Line = n.string()
		return c
	}
	given := n.fields("a command line, or an object with the key run,", c.fields(
		field{"run", func(n node) { c.Line = n.string() }},
		field{"exit_code", func(n node) { c.ExitCode = n.exitCode() }},
	)...)
	if given != nil && !slices.Contains(given, "run") {
		n.fault("the check 'command' has no key 'run'")
	}
	return c
}

func (n node) exitCode() int {
	i, ok := n.v.(int64)
	if !ok || i < 0 || i > 255 {
		n.fault("'%s' should be a number from 0 to 255 but got %s", n.name(), value.FormatJSON(n.v, ""))
	}
	return int(i)
}

func (n node) callCheck() *CallCheck {
	c := &CallCheck{}
	if _, ok := n.v.(string); ok {
		c.Tool = n.string()
		return c
	}
	given := n.fields("the name of a tool, or an object with the key tool,", c.fields(
		field{"tool", func(n node) { c.Tool = n.string() }},
		field{"arguments", func(n node) { c.Arguments = n.dict() }},
	)...)
	if given != nil && !slices.Contains(given, "tool") {
		n.fault("the check 'call' has no key 'tool'")
	}
	return c
}

func (n node) dict() *value.Dict {
	d, ok := n.v.(*value.Dict)
	if !ok {
		n.wrong("an object with arguments, as in {filepath: notes.md},")
	}
	return d
}
