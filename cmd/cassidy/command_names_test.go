package main

import (
	"github.com/cassidy-run/cassidy/cmd/internal/command"

	"go/ast"
	"go/token"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/internal/sourcetest"
)

// TestCommandNames checks that each command line of cassidy in the docs, the errors, the hints and the
// help names a command, a subcommand and flags that exist.
func TestCommandNames(t *testing.T) {
	t.Parallel()
	known := commandTree()
	seen := 0
	check := func(where, text string, isCommand func(before, line string) bool) {
		for _, at := range commandLine.FindAllStringSubmatchIndex(text, -1) {
			if !isCommand(text[:at[0]], text[at[2]:at[3]]) {
				continue
			}
			seen++
			if why := known.check(text[at[2]:at[3]]); why != "" {
				t.Errorf("%s: cassidy %s: %s", where, text[at[2]:at[3]], why)
			}
		}
	}
	for where, code := range codeOfDocs(t) {
		check(where, code, func(before, _ string) bool { return strings.TrimSpace(before) == "" || strings.HasSuffix(before, "$ ") })
	}
	for where, text := range literals(t) {
		check(where, text, func(before, line string) bool { // other texts are sentences about cassidy
			first, _, _ := strings.Cut(line, " ")
			return strings.HasSuffix(strings.TrimRight(before, " "), ":") || strings.HasPrefix(line, "-") || known.commands[first] != nil
		})
	}
	if seen < 300 {
		t.Errorf("%d command lines found, want those of all docs and texts", seen)
	}
}

// TestCommandNamesAreChecked checks that wrong command lines are found.
func TestCommandNamesAreChecked(t *testing.T) {
	t.Parallel()
	known := commandTree()
	for line, good := range map[string]bool{
		"tool list": true, "tool explain x": false, "tasks x": false, "task --yes": true, "task x --yess": false, "models anthropic": true,
		"--json task x": true, "--jsn task x": false, "--dir a/b tool run slug --yes": true, "runs show ID": true, "runs shows ID": false,
		"run page title=x --yes": true, "agents": true, "agents new NAME": true, "agents newer": false, "chat --continue": true,
	} {
		if why := known.check(line); (why == "") != good {
			t.Errorf("check(%q) = %q", line, why)
		}
	}
}

// commandLine finds a command line up to the end of the line, of the code or of the sentence.
var commandLine = regexp.MustCompile("\\bcassidy +((?:--?)?[a-z][^\\n`;|)#<>]*)")

// A tree is a command, with the names of its flags.
type tree struct {
	flags    []string
	commands map[string]*tree
}

func commandTree() *tree {
	root := &tree{flags: []string{"dir", "json", "quiet", "verbose", "config", "engine", "server", "trust-once", "help", "h"}, commands: map[string]*tree{}}
	a := app.New(&app.World{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard, Env: os.LookupEnv})
	for _, command := range command.Commands() {
		root.add(command(a))
	}
	return root
}

func (t *tree) add(c *cli.Command) {
	sub := &tree{commands: map[string]*tree{}}
	for _, f := range c.Flags {
		sub.flags = append(sub.flags, f.Names()...)
	}
	for _, name := range c.Names() {
		t.commands[name] = sub
	}
	for _, one := range c.Subcommands {
		sub.add(one)
	}
}

// word finds what may be the name of a command, and not an argument such as NAME, a.b or x=y.
var word = regexp.MustCompile(`^[a-z][a-z-]*$`)

// check returns why a command line is wrong, or "".
func (t *tree) check(line string) string {
	at, flags, inQuotes := t, slices.Clone(t.flags), false
	takesValue := []string{"--dir", "--config", "--engine", "--server"}
	fields := strings.Fields(line)
	for i := 0; i < len(fields); i++ {
		field := strings.Trim(fields[i], `.,:"'[]`)
		quotes := strings.Count(fields[i], `"`) + strings.Count(fields[i], `'`)
		if wasIn := inQuotes; wasIn || quotes > 0 {
			inQuotes = wasIn != (quotes%2 == 1)
			continue
		}
		switch name, isFlag := strings.CutPrefix(field, "--"); {
		case isFlag && name != "":
			name, _, _ = strings.Cut(name, "=")
			for _, one := range strings.Split(name, "|--") {
				if !slices.Contains(flags, one) {
					return "there is no flag --" + one
				}
			}
			if slices.Contains(takesValue, field) {
				i++
			}
		case at.commands[field] != nil:
			at = at.commands[field]
			flags = append(flags, at.flags...)
		case field == "…":
			return ""
		case at == t:
			return "there is no command " + field
		case len(at.commands) > 1 && word.MatchString(field): // a command with one subcommand, such as eval, takes arguments
			return "there is no subcommand " + field
		default:
			at = &tree{} // the rest are arguments and flags
		}
	}
	return ""
}

// codeOfDocs returns the lines of code of the docs, by their place.
func codeOfDocs(t *testing.T) map[string]string {
	t.Helper()
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	code := map[string]string{}
	span := regexp.MustCompile("`([^`\n]+)`")
	for _, page := range append(pages, "../../README.md", "../../CONTRIBUTING.md", "../../docs/config.yaml") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		inBlock := false
		n := 0
		for line := range strings.Lines(string(text)) {
			n++
			where := filepath.Base(page) + ":" + strconv.Itoa(n)
			if strings.HasPrefix(strings.TrimSpace(line), "```") {
				inBlock = !inBlock
				continue
			}
			if inBlock {
				code[where] = strings.TrimSpace(line)
				continue
			}
			for i, m := range span.FindAllStringSubmatch(line, -1) {
				code[where+"."+strconv.Itoa(i)] = m[1]
			}
		}
	}
	return code
}

// literals returns the texts in the source, by their place.
func literals(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	files, err := sourcetest.Files("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if f.Test {
			continue
		}
		ast.Inspect(f.AST, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if text, err := strconv.Unquote(lit.Value); err == nil {
					texts[f.Where(lit)] = text
				}
			}
			return true
		})
	}
	return texts
}
