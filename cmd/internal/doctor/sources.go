package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/internal/config"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// agentTools are the tools that only an agent has.
var agentTools = []string{"agent", "todo"}

// checkSources returns the sources in a config that name a tool, or a group, which does not exist.
// It is an error if there is a similar name. Another one can be that of a tool of another project.
func checkSources(c *config.Config, h *host.Host) (findings []finding) {
	names, groups := slices.Clone(agentTools), []string(nil)
	for _, t := range h.Tools() {
		names = append(names, t.Name)
		if g := "@" + t.DisplayGroup(); !slices.Contains(groups, g) {
			groups = append(groups, g)
		}
	}
	for _, list := range []struct {
		name    string
		sources []string
	}{{"trusted_sources", c.TrustedSources}, {"untrusted_sources", c.UntrustedSources}} {
		for _, source := range list.sources {
			if f, missing := checkSource(source, names, groups); missing {
				f.name, f.value = "config", list.name+": "+f.value
				findings = append(findings, f)
			}
		}
	}
	return findings
}

// checkSource returns a finding about a source that names no known tool or group. missing reports
// whether there is one.
func checkSource(source string, names, groups []string) (f finding, missing bool) {
	name, ofTool := strings.CutPrefix(source, "tool:")
	if !ofTool {
		return f, false
	}
	valid, what := names, "tool"
	same := func(other string) bool { return tool.Key(other) == tool.Key(name) }
	if strings.HasPrefix(name, "@") {
		valid, what = groups, "group"
		same = func(other string) bool { return other == name }
	}
	if slices.ContainsFunc(valid, same) {
		return f, false
	}
	f.value = fmt.Sprintf("%q names no %s that is available here", source, what)
	f.hint = "check the name; to list the tools and their groups: cassidy tool list"
	if meant := value.Nearest(name, valid); meant != "" {
		f.bad, f.hint = true, fmt.Sprintf("did you mean %q?", "tool:"+meant)
	}
	return f, true
}
