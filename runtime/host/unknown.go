package host

import (
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// longName is how much of the name of an unknown tool is shown, as names can come from anybody.
const longToolName = 120

// unknown returns the error of a name that no tool has. It suggests the nearest of the tools that a user
// has reviewed, since a model may read the error. For the name of a tool of an attached server, as in
// server__tool, these are the tools of this server.
func unknown(name string, heads []toolset.Head) error {
	server, _, qualified := strings.Cut(tool.Key(name), "__")
	var names []string
	var ofServer []toolset.Head
	for _, h := range heads {
		if h.State == toolset.Untrusted {
			continue
		}
		names = append(names, h.Name)
		if qualified && strings.HasPrefix(h.Group, "mcp:") && strings.HasPrefix(tool.Key(h.Name), server+"__") {
			ofServer = append(ofServer, h)
		}
	}
	if ofServer != nil {
		names, heads = value.Map(ofServer, func(h toolset.Head) string { return h.Name }), ofServer
	}
	var near []string
	keys := value.Map(names, tool.Key)
	if key := value.Nearest(tool.Key(name), keys); key != "" {
		near = append(near, names[slices.Index(keys, key)])
	}
	err := value.Errorf(value.NotFound, "Unknown tool: %s%s", value.Clean(name, longToolName), value.DidYouMean(name, near)).WithLimit(value.LimitTool)
	switch list := list(heads); {
	case ofServer != nil:
		return err.WithHint("use one of the tools of the server %s: %s", strings.TrimPrefix(ofServer[0].Group, "mcp:"), list)
	case list != "" && qualified:
		return err.WithHint("use one of the tools: %s; list the attached servers with: cassidy mcp list", list)
	case list != "":
		return err.WithHint("use one of the tools: %s", list)
	}
	return err.WithHint("add a tool first: the host has no tools")
}
