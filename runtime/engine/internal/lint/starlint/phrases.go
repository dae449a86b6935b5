package starlint

import (
	"slices"
	"strings"
	"sync"

	"go.starlark.net/starlark"

	"github.com/cassidy-run/cassidy/internal/scan"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// An advice is a replacement, if a program has what it needs.
type advice struct {
	needs string // a tool or a module; "": nothing
	text  string
}

// advices has the replacements for Python features: undefined names, words and
// operators as they are written, and methods with a dot before them. The first
// applicable one is used: tools before modules.
var advices = sync.OnceValue(func() map[string][]advice {
	return map[string][]advice{
		"try":         {{"", `write r = attempt(fn, arg) and look at r["ok"], r["value"] and r["error"]`}},
		"raise":       {{"", `write fail("what is wrong")`}},
		"with":        {{"", "delete with: files need not be closed"}},
		"class":       {{"", "use functions, and dicts for the data"}},
		"global":      {{"", `keep it in a dict, as in state = {"n": 0}, and write state["n"] += 1`}},
		"nonlocal":    {{"", `keep it in a dict, as in state = {"n": 0}, and write state["n"] += 1`}},
		"del":         {{"", "leave the line out, or build a new list or dict without it"}},
		"is":          {{"", "write =="}},
		"is not":      {{"", "write !="}},
		"yield":       {{"", "append to a list and return it"}},
		"await":       {{"", "delete the word: every call waits for the result"}},
		"async":       {{"", "delete the word: every call waits for the result"}},
		"**":          {{"math", "write math.pow(x, y), or x * x"}, {"", "multiply in a loop"}},
		":=":          {{"", "write n = … on a separate line above"}},
		"...":         {{"", "write pass, or None for a value"}},
		"a decorator": {{"", "delete the line"}},

		"open": {{"read_file", "call read_file or write_file"}, {"fs", "write fs.read(path) or fs.write(path, content)"},
			{"", "call a tool that reads or writes files"}},
		"requests": {{"fetch_url", "call fetch_url"}, {"http", "write http.get(url)"}},
		"os":       {{"list_files", "call a tool for files"}, {"fs", "write fs.list(path), fs.exists(path) and the like"}, {"", "call a tool"}},
		"subprocess": {{"run_command", "call run_command"}, {"shell", "write shell.run([\"git\", \"status\"])"},
			{"", "running commands is not supported"}},
		"datetime":    {{"time", "write time.now(), time.parse(text) and time.format(time)"}},
		"sys":         {{"", "end with return, and show values with print"}},
		"exit":        {{"", "end with return"}},
		"collections": {{"", "delete the line, and use lists, dicts and functions"}},
		"sum":         {{"math", "write math.sum(values)"}, {"", "add in a loop"}},
		"round":       {{"math", "write math.round(number, digits)"}, {"", "write int(number + 0.5)"}},
		"pow":         {{"math", "write math.pow(x, y)"}},
		"divmod":      {{"", "write x // y and x % y"}},
		"map":         {{"", "write [f(x) for x in values]"}},
		"filter":      {{"", "write [x for x in values if f(x)]"}},
		"isinstance":  {{"", `write type(x) == "string", or "int", "float", "bool", "list", "dict", "NoneType"`}},
		"next":        {{"", "write values[0], or a loop with break"}},
		"iter":        {{"", "loop over the value itself"}},
		"format":      {{"", `write "{}".format(value)`}},
		"hex":         {{"", `write "%x" % number`}},
		"oct":         {{"", `write "%o" % number`}},
		"assert":      {{"", `write if not …: fail("what is wrong")`}},
		"Exception":   {{"", `write fail("what is wrong")`}},
		"object":      {{"", "write {}"}},
		"frozenset":   {{"", "write set(values)"}},
		"defaultdict": {{"", "write d = {} and d.setdefault(key, []).append(value)"}},
		"Counter":     {{"", "write d = {} and d[key] = d.get(key, 0) + 1"}},
		"deque":       {{"", "write a list"}},
		"true":        {{"", "write True"}},
		"false":       {{"", "write False"}},
		"null":        {{"", "write None"}},
		"__name__":    {{"", "write main() without the if"}},

		".zfill":      {{"text", `text.pad_left(s, width, "0")`}, {"", `"0" * (width - len(s)) + s`}},
		".rjust":      {{"text", "text.pad_left(s, width)"}, {"", `" " * (width - len(s)) + s`}},
		".ljust":      {{"text", "text.pad_right(s, width)"}, {"", `s + " " * (width - len(s))`}},
		".center":     {{"text", "text.center(s, width)"}, {"", `" " * ((width - len(s)) // 2) + s`}},
		".casefold":   {{"", "s.lower()"}},
		".encode":     {{"", "bytes(s)"}},
		".decode":     {{"", "str(b)"}},
		".expandtabs": {{"", `s.replace("\t", "    ")`}},
		".sort":       {{"", "values = sorted(values)"}},
		".reverse":    {{"", "values = reversed(values)"}},
		".copy":       {{"", "list(values) or dict(values)"}},
		".read_text":  {{"read_file", "read_file(…)"}, {"fs", "fs.read(path)"}, {"", "a call of a tool"}},
		".write_text": {{"write_file", "write_file(…)"}, {"fs", "fs.write(path, content)"}, {"", "a call of a tool"}},
	}
})

// sameAdvice maps names to the name that has their advice.
var sameAdvice = map[string]string{
	"urllib": "requests", "httpx": "requests", "aiohttp": "requests", "urlopen": "requests",
	"pathlib": "os", "Path": "os", "glob": "os", "shutil": "os", "io": "open",
	"timedelta": "datetime", "date": "datetime", "quit": "exit",
	"ValueError": "Exception", "TypeError": "Exception", "KeyError": "Exception", "RuntimeError": "Exception", "IndexError": "Exception",
	"OrderedDict": "object", "itertools": "collections", "functools": "collections", "dataclasses": "collections", "enum": "collections",
}

// Advice returns the replacement for a Python feature in a program with these names, or
// "".
func Advice(names starlark.StringDict, feature string) string {
	if same, ok := sameAdvice[feature]; ok {
		feature = same
	}
	for _, a := range advices()[feature] {
		if a.needs == "" || names.Has(a.needs) {
			return a.text
		}
	}
	return ""
}

// functionAdvice maps functions of Python's modules to their names here.
var functionAdvice = map[string]string{
	"json.dumps": "json.encode", "json.dump": "json.encode", "json.loads": "json.decode", "json.load": "json.decode",
	"re.findall": "re.find_all", "re.finditer": "re.find_all", "re.fullmatch": "re.match",
	"time.time": "time.now", "time.strftime": "time.format", "time.strptime": "time.parse",
	"random.random": "random.number", "random.randint": "random.integer", "random.randrange": "random.integer", "random.choices": "random.sample",
	"yaml.safe_load": "yaml.decode", "yaml.load": "yaml.decode", "yaml.dump": "yaml.encode", "yaml.safe_dump": "yaml.encode",
	"csv.reader": "csv.parse", "csv.DictReader": "csv.parse", "csv.writer": "csv.encode",
	"base64.b64encode": "base64.encode", "base64.b64decode": "base64.decode",
	"t.equal": "t.eq", "t.equals": "t.eq", "t.assert_eq": "t.eq", "t.assert_equal": "t.eq", "t.assertEqual": "t.eq",
	"t.raises": "t.fails", "t.assert_raises": "t.fails", "t.assertRaises": "t.fails",
}

// Renamed returns the name that a function of another library has here, as in json.encode for json.dumps, or
// "".
func Renamed(name string) string { return functionAdvice[name] }

// renamed returns the full name of a module's function: its name here if that differs
// and exists, else the given one.
func (h *Program) renamed(module, name string) string {
	own := module + "." + name
	other := functionAdvice[own]
	if m, ok := h.Predeclared[module].(starlark.HasAttrs); ok && other != "" && !slices.Contains(m.AttrNames(), name) && slices.Contains(m.AttrNames(), strings.TrimPrefix(other, module+".")) {
		return other
	}
	return own
}

// checkModule adds a finding if a module has no such function.
func (h *Program) checkModule(at scan.Position, module, name string, m starlark.HasAttrs) {
	if _, err := m.Attr(name); err == nil {
		return
	}
	if other := h.renamed(module, name); other != module+"."+name {
		h.add(at, "%s.%s; write %s", module, name, other)
		return
	}
	names := m.AttrNames()
	h.add(at, "%s has no %s%s; it has %s", module, name, value.DidYouMean(name, names), strings.Join(names, ", "))
	h.rename(name, names)
}

// checkMethod adds a finding for a method that no value has.
func (h *Program) checkMethod(at scan.Position, name string) {
	if text := Advice(h.Predeclared, "."+name); text != "" {
		h.add(at, "there is no .%s(); write %s", name, text)
	}
}

// checkPrint adds a finding for an argument that print does not have.
func (h *Program) checkPrint(at scan.Position, name string) {
	if name != "sep" {
		h.add(at, "print takes no %s; leave %s= out: each print is a line", name, name)
	}
}
