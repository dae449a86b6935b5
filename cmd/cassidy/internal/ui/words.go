package ui

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

// capabilityWords describes what a capability allows, without a target and with a target
// as %s.
var capabilityWords = map[string][2]string{
	"fs.read":      {"read every file of the project", "read the files %s"},
	"fs.write":     {"write, change and remove every file of the project", "write, change and remove the files %s"},
	"http":         {"send anything to any host", "send anything to %s"},
	"http.get":     {"request any host and send data in the URL", "request %s and send data in the URL"},
	"http.head":    {"request headers from any host and send data in the URL", "request headers from %s and send data in the URL"},
	"http.post":    {"send data (POST) to any host", "send data (POST) to %s"},
	"http.put":     {"send data (PUT) to any host", "send data (PUT) to %s"},
	"http.patch":   {"send data (PATCH) to any host", "send data (PATCH) to %s"},
	"http.delete":  {"delete data (DELETE) at any host", "delete data (DELETE) at %s"},
	"shell":        {"run every command", "run the command %s"},
	"env":          {"read every environment variable, including secrets", "read the environment variable %s"},
	"secret":       {"use every secret", "use the secret %s"},
	"tool":         {"call every other tool", "call the tool %s"},
	"model":        {"ask a model"},
	"human":        {"ask you questions"},
	"skill.create": {"write skills, which models follow"},
	"memory.add":   {"write notes, which models read in later conversations"},
	"context.read": {"read the project's notes, skills and overview"},
	"use":          {"use everything that the program provides", "use %s, which the program provides"},
}

// InWords describes what a capability allows a tool to do.
func InWords(c tool.Capability) string {
	words, known := capabilityWords[c.Name]
	switch {
	case !known:
		return "use " + c.String()
	case c.Name == "shell" && c.Target == "sh":
		return "run every command line in a sandbox, which can read the project and write the files that the tool may write"
	case c.Name == "tool" && strings.HasPrefix(c.Target, "@"):
		return "call the tools of the group " + c.Target[1:]
	case c.Target == "" || words[1] == "":
		return words[0]
	}
	return fmt.Sprintf(words[1], c.Target)
}

// WorstFirst sorts capabilities: those that change something come first.
func WorstFirst(list []tool.Capability) []tool.Capability {
	acting := slices.DeleteFunc(slices.Clone(list), func(c tool.Capability) bool { return !c.Acts() })
	return append(acting, slices.DeleteFunc(slices.Clone(list), tool.Capability.Acts)...)
}
