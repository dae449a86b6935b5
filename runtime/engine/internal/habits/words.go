package habits

import (
	"slices"
	"strings"

	"go.starlark.net/starlark"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// An advice is what to write instead of a name, where a program has what it needs.
type advice struct {
	needs string // a tool, a module, or "" for nothing
	text  string
}

// nameAdvice says what to write for names of Python's that have no meaning.
// What comes first counts: tools before modules.
var nameAdvice = map[string][]advice{
	"open": {{"read_file", "call read_file or write_file"}, {"fs", "write fs.read(path) or fs.write(path, content)"},
		{"", "a program reads files with a tool for files"}},
	"requests": {{"fetch_url", "call fetch_url"}, {"http", "write http.get(url)"}},
	"os":       {{"list_files", "call a tool for files"}, {"fs", "write fs.list(path), fs.exists(path) and the like"}, {"", "call a tool"}},
	"subprocess": {{"run_command", "call run_command"}, {"shell", "write shell.run([\"git\", \"status\"])"},
		{"", "commands cannot be run here"}},
	"datetime":    {{"time", "write time.now(), time.parse(text) and time.format(time)"}},
	"sys":         {{"", "end with return, and print what is to be seen"}},
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
	"__name__":    {{"", "leave the if out and write main()"}},
}

// sameAdvice are names that are as good as another.
var sameAdvice = map[string]string{
	"urllib": "requests", "httpx": "requests", "aiohttp": "requests", "urlopen": "requests",
	"pathlib": "os", "Path": "os", "glob": "os", "shutil": "os", "io": "open",
	"timedelta": "datetime", "date": "datetime", "quit": "exit",
	"ValueError": "Exception", "TypeError": "Exception", "KeyError": "Exception", "RuntimeError": "Exception", "IndexError": "Exception",
	"OrderedDict": "object", "itertools": "collections", "functools": "collections", "dataclasses": "collections", "enum": "collections",
}

// advice returns what to write instead of a name, or "".
func (h *Program) advice(name string) string {
	if same, ok := sameAdvice[name]; ok {
		name = same
	}
	for _, a := range nameAdvice[name] {
		if a.needs == "" || h.Given.Has(a.needs) {
			return a.text
		}
	}
	return ""
}

// methodAdvice says what to write for methods that no value of Starlark has.
var methodAdvice = map[string][]advice{
	"zfill":      {{"text", `text.pad_left(s, width, "0")`}, {"", `"0" * (width - len(s)) + s`}},
	"rjust":      {{"text", "text.pad_left(s, width)"}, {"", `" " * (width - len(s)) + s`}},
	"ljust":      {{"text", "text.pad_right(s, width)"}, {"", `s + " " * (width - len(s))`}},
	"center":     {{"text", "text.center(s, width)"}, {"", `" " * ((width - len(s)) // 2) + s`}},
	"casefold":   {{"", "s.lower()"}},
	"encode":     {{"", "bytes(s)"}},
	"decode":     {{"", "str(b)"}},
	"isnumeric":  {{"", "s.isdigit()"}},
	"isdecimal":  {{"", "s.isdigit()"}},
	"expandtabs": {{"", `s.replace("\t", "    ")`}},
	"format_map": {{"", "s.format(**d)"}},
	"sort":       {{"", "values = sorted(values)"}},
	"reverse":    {{"", "values = reversed(values)"}},
	"copy":       {{"", "list(values) or dict(values)"}},
	"iteritems":  {{"", "d.items()"}},
	"has_key":    {{"", "key in d"}},
	"read_text":  {{"read_file", "read_file(…)"}, {"fs", "fs.read(path)"}, {"", "a call of a tool"}},
	"write_text": {{"write_file", "write_file(…)"}, {"fs", "fs.write(path, content)"}, {"", "a call of a tool"}},
}

// functionAdvice says what a module's function is called here that Python, or
// a module of Python's, calls otherwise.
var functionAdvice = map[string]string{
	"json.dumps": "json.encode", "json.dump": "json.encode", "json.loads": "json.decode", "json.load": "json.decode",
	"re.findall": "re.find_all", "re.finditer": "re.find_all", "re.fullmatch": "re.match",
	"time.time": "time.now", "time.strftime": "time.format", "time.strptime": "time.parse",
	"random.random": "random.number", "random.randint": "random.integer", "random.randrange": "random.integer", "random.choices": "random.sample",
	"yaml.safe_load": "yaml.decode", "yaml.load": "yaml.decode", "yaml.dump": "yaml.encode", "yaml.safe_dump": "yaml.encode",
	"csv.reader": "csv.parse", "csv.DictReader": "csv.parse", "csv.writer": "csv.encode",
	"base64.b64encode": "base64.encode", "base64.b64decode": "base64.decode",
}

// renamed returns the name of a module's function, where the module has it
// under another one that, else under its own.
func (h *Program) renamed(module, name string) string {
	own := module + "." + name
	other := functionAdvice[own]
	if m, ok := h.Given[module].(starlark.HasAttrs); ok && other != "" && !slices.Contains(m.AttrNames(), name) && slices.Contains(m.AttrNames(), strings.TrimPrefix(other, module+".")) {
		return other
	}
	return own
}

// attribute looks at the name behind a dot.
func (h *Program) attribute(i int) {
	name := h.said(i)
	receiver := h.source(i-2, i-1, "")
	if m, ok := h.Given[receiver].(starlark.HasAttrs); ok && !h.is(i-3, ".") && !h.defined[receiver] {
		if _, err := m.Attr(name); err == nil {
			return
		}
		if other := h.renamed(receiver, name); other != receiver+"."+name {
			h.add(i, "%s.%s; write %s", receiver, name, other)
			return
		}
		names := m.AttrNames()
		h.add(i, "%s has no %s%s; it has %s", receiver, name, value.DidYouMean(name, names), strings.Join(names, ", "))
		return
	}
	if !h.is(i+1, "(") {
		return
	}
	for _, a := range methodAdvice[name] {
		if a.needs == "" || h.Given.Has(a.needs) {
			h.add(i, "there is no .%s(); write %s", name, a.text)
			return
		}
	}
}
