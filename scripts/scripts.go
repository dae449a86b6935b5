// Package scripts holds the built-in policies, prompts and templates
// (embedded).
package scripts

import (
	"embed"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode"
)

//go:embed templates policies prompts
var files embed.FS

// Templates returns the names of the templates for new tools.
func Templates() []string {
	return []string{"basic", "http", "command", "file", "table"}
}

// renamed are the earlier names of templates.
var renamed = map[string]string{"file_operation": "file", "data_operation": "table"}

// Template returns the text of a new tool with a name, from a template in a language:
// star, lua or md. It reports false if there is no such template or language.
func Template(template, lang, name string) (text string, ok bool) {
	if now, ok := renamed[template]; ok {
		template = now
	}
	if !slices.Contains(Templates(), template) || !slices.Contains([]string{"star", "lua", "md"}, lang) {
		return "", false
	}
	return filled(read("templates/"+template+"."+lang), name), true
}

// Tests returns the text of the file with the tests of a new tool from a template, which is in Starlark. It reports false
// for a template whose examples are its tests.
func Tests(template, name string) (text string, ok bool) {
	data, err := files.ReadFile("templates/" + template + "_test.star")
	return filled(string(data), name), err == nil
}

// Workflow returns the text of a new workflow.
func Workflow(name string) string { return filled(read("templates/workflow.star"), name) }

// OpenAPILib returns the file that the scripts load which are made of OpenAPI documents. It is the same for all documents.
func OpenAPILib() string { return read("templates/openapi.star") }

// filled returns the text of a template for a name.
func filled(text, name string) string {
	key := strings.ReplaceAll(name, "-", "_")
	return strings.NewReplacer("my_tool", Function(key), "my-tool", name, "My Tool", title(key)).Replace(text)
}

// Function returns the name of a tool's function: the tool's name, unless that is
// reserved in the language or the template.
func Function(key string) string {
	if slices.Contains(taken, key) {
		return key + "_tool"
	}
	return key
}

// taken are the names that a function in a template must not have: the keywords of
// Starlark and Lua, and predeclared names, which a template or later code may use.
var taken = strings.Fields(`
	and as assert async await break class continue def del do elif else elseif end except false finally for
	from global goto if import in is lambda load local nil nonlocal not or pass raise repeat return then true
	try until while with yield function

	abs all any attempt bool bytes chr coroutine dict dir emit enumerate error example fail float getattr
	getmetatable hasattr hash int ipairs len list log max min next null ord pairs param pcall print progress
	range rawequal rawget rawset repr reversed select set setmetatable sorted str string table tonumber tool
	tostring tuple type unpack uuid xpcall zip

	agent base64 context csv data diff env fs http human json math model random re secret shell skill text
	time tools url yaml`)

// title converts a tool's key to a title.
func title(key string) string {
	words := strings.FieldsFunc(key, func(r rune) bool { return r == '_' })
	for i, w := range words {
		r := []rune(w)
		words[i] = string(append([]rune{unicode.ToUpper(r[0])}, r[1:]...))
	}
	return strings.Join(words, " ")
}

// ProjectConfig returns the config.yaml of a new project, which has only comments.
func ProjectConfig() string {
	return read("templates/config.yaml")
}

// Policies returns the names of the built-in policies.
func Policies() []string {
	return []string{"task", "chat", "plan", "review", "best", "debate", "planner"}
}

// Policy returns the source of a built-in policy. It reports false if there is no such
// policy.
func Policy(name string) (source string, ok bool) {
	if !slices.Contains(Policies(), name) {
		return "", false
	}
	return read("policies/" + name + ".star"), true
}

// PolicyLibs returns the files that policies load, by name.
func PolicyLibs() map[string]string {
	return map[string]string{"lib/loop.star": read("policies/lib/loop.star")}
}

func read(name string) string {
	data, err := files.ReadFile(name)
	if err != nil {
		panic("scripts: " + err.Error()) // a table above and the folder differ
	}
	return string(data)
}

// Prompt returns the text of a prompt by its name below prompts, as in "task" or
// "turn/denied", without the end of its last line. It reports false if there is no such
// prompt. A text may have placeholders, written {{name}}.
func Prompt(name string) (text string, ok bool) {
	if path.Clean("/"+name) != "/"+name {
		return "", false // it would leave prompts, or be a second name of a file
	}
	data, err := files.ReadFile("prompts/" + name + ".md")
	if err != nil {
		return "", false
	}
	return strings.TrimSuffix(string(data), "\n"), true
}

// Prompts returns the names of all prompts, sorted.
func Prompts() []string {
	var names []string
	err := fs.WalkDir(files, "prompts", func(file string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, strings.TrimSuffix(strings.TrimPrefix(file, "prompts/"), ".md"))
		}
		return err
	})
	if err != nil {
		panic("scripts: " + err.Error()) // the folder is embedded
	}
	slices.Sort(names)
	return names
}
