// Package hint selects what of a hint or an error is for whom: a person at the command, a programmer,
// or a model.
package hint

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// An Audience is who reads a hint. The parts of a hint are separated by "; ", and each part is for
// one audience:
//
//   - "in Go, …" is for programmers,
//   - "in a script, …" is for people who have written the script: a model and its programs have only tools,
//   - a part with a field of Options is for them too,
//   - a part with a command line or a flag of cassidy, with a rule, with the user's config, the terminal, a
//     variable of the environment or a path in a home folder is for people,
//   - every other part is for everybody.
//
// The words decide, and not each of the hundreds of lines that write hints: nobody would notice a wrong choice
// there, because nobody reads what a model gets. One test checks the hints of all packages. A part that is
// taken for one for people by mistake is only missing for models.
//
// A model can do nothing with a part for people. It would repeat it as if it were its own advice,
// or try to run it.
type Audience uint8

// The audiences of hints.
const (
	People Audience = iota // at the command: all parts except those for programmers
	Models                 // only the parts for everybody
	Users                  // people who use a tool that they have not written: no parts for authors either
)

// goPart and scriptPart begin the parts of a hint for programmers and for authors of scripts.
const goPart, scriptPart = "in Go, ", "in a script, "

var (
	// peoplePart finds what makes a part of a hint one for people.
	peoplePart = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^change (the rule|permissionMode: [a-z]+) in |\bcassidy (-|[a-z])|(^|\s)--(yes|deny|dir|json|format|effort|model|timeout|context|trust-once|allow|skip|from|to|out|judge|tools|tool-choice|temperature|policy|docs|schema|session|continue|run-id|attach|no-inference|no-hooks|repeat-instructions|max-[a-z]+)\b|` +
			`config\.yaml|\bconfig:|(user's|your( own)?) config|\bOptions\.|\b\w+Options\.|\bterminal\b|\bexport [A-Z]|\$(HOME|CASSIDY_HOME)\b|environment variable|` +
			`(^|[\s"'(])(~/|/root/|/home/|/Users/|[A-Z]:\\Users\\)`)
	})
	// commandPart is a part of an error that is only a command line of cassidy.
	commandPart = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(run|to [a-z ]+:|review (it|them) with:?) cassidy `)
	})
)

// For returns the parts of a hint that are for an audience.
func For(hint string, a Audience) string {
	own, _, _ := strings.Cut(hint, "; "+goPart)
	if a == People {
		return own
	}
	parts := slices.DeleteFunc(strings.Split(own, "; "), func(part string) bool {
		return strings.HasPrefix(part, scriptPart) || a == Models && (strings.HasPrefix(part, goPart) || peoplePart().MatchString(part))
	})
	return strings.Join(parts, "; ")
}

// Message returns the text of an error for an audience: a model does not get the parts that are
// only a command line of cassidy. The first part always stays.
func Message(message string, a Audience) string {
	parts := strings.Split(message, "; ")
	if a == People || a == Users || len(parts) == 1 {
		return message
	}
	rest := slices.DeleteFunc(parts[1:], commandPart().MatchString)
	return strings.Join(append(parts[:1], rest...), "; ")
}

// RuleCommand returns the command line that adds or removes rules, which are written as in a config.
// flag is --rule or --remove-rule.
func RuleCommand(flag string, rules []string) string {
	line := "cassidy trust " + flag
	for _, r := range rules {
		line += " " + Quote(r)
	}
	return line
}

// Trust returns the part of a hint that trusts what a model has read, by entries of the user's list
// trusted_sources.
func Trust(sources []string) string {
	return "to trust what was read, if only people whom you trust can write it: " + AddCommand("trusted_sources", sources)
}

// AddCommand returns the command line that adds texts to a list of the user's config. It does not set the
// complete list: a question can be days old, and would drop what was added since.
func AddCommand(field string, texts []string) string {
	line := "cassidy config set --add " + field
	for _, text := range texts {
		if strings.ContainsFunc(text, func(r rune) bool {
			return !strings.ContainsRune(plainRunes, r)
		}) {
			text = Quote(text)
		}
		line += " " + text
	}
	return line
}

// plainRunes need no quotes on a command line.
const plainRunes = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789:/.,@_-"

// Quote returns a text as one word of a command line, in single quotes.
func Quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
