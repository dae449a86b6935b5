package ui

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

// capabilityWords says what a capability lets a tool do: without a target, and
// with one, which %s stands for.
var capabilityWords = map[string][2]string{
	"fs.read":      {"read every file of the project", "read the files %s"},
	"fs.write":     {"write, change and remove every file of the project", "write, change and remove the files %s"},
	"http":         {"send anything to any host", "send anything to %s"},
	"http.get":     {"fetch from any host, and send it what an address can hold", "fetch from %s, and send it what an address can hold"},
	"http.head":    {"ask any host, and send it what an address can hold", "ask %s, and send it what an address can hold"},
	"http.post":    {"send (POST) to any host", "send (POST) to %s"},
	"http.put":     {"send (PUT) to any host", "send (PUT) to %s"},
	"http.patch":   {"send (PATCH) to any host", "send (PATCH) to %s"},
	"http.delete":  {"delete at any host", "delete at %s"},
	"shell":        {"run every command", "run the command %s"},
	"env":          {"read every environment variable, secrets among them", "read the environment variable %s"},
	"secret":       {"use every secret", "use the secret %s"},
	"tool":         {"call every other tool", "call the tool %s"},
	"model":        {"ask a model"},
	"human":        {"ask you questions"},
	"skill.create": {"write skills, which a model then obeys"},
	"context.read": {"read the project's notes, skills and overview"},
	"use":          {"use everything that the program lends", "use %s, which the program lends"},
}

// InWords says what a capability lets a tool do.
func InWords(c tool.Capability) string {
	words, known := capabilityWords[c.Name]
	switch {
	case !known:
		return "use " + c.String()
	case c.Name == "shell" && c.Target == "sh":
		return "run every command line, confined: it reads the project, and writes it where the tool may"
	case c.Name == "tool" && strings.HasPrefix(c.Target, "@"):
		return "call the tools of the group " + c.Target[1:]
	case c.Target == "" || words[1] == "":
		return words[0]
	}
	return fmt.Sprintf(words[1], c.Target)
}

// WorstFirst puts what lets a tool act before what does not.
func WorstFirst(list []tool.Capability) []tool.Capability {
	sorted := slices.Clone(list)
	slices.SortStableFunc(sorted, func(a, b tool.Capability) int {
		switch {
		case a.Acts() == b.Acts():
			return 0
		case a.Acts():
			return -1
		}
		return 1
	})
	return sorted
}
