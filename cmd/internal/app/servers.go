package app

import (
	"strings"

	"github.com/cassidy-run/cassidy/cmd/internal/servers"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/sandbox/launch"
)

// attachServers adds the tools of MCP servers to a host. Call end after the host was closed. If the host
// follows its files, following gets the servers.
func (a *App) attachServers(h *host.Host, root string) (end func()) {
	s := a.Servers(root).Attach(h)
	a.attached.Store(s)
	a.ReportAll(s.Update())
	return s.Close
}

// following returns what a host calls after each change of files: it attaches the MCP servers again
// before it reports the new errors. It is nil if the host does not follow its files.
func (a *App) following() func([]*value.Error) {
	if a.Watch == nil {
		return nil
	}
	return func(wrong []*value.Error) { a.Watch(append(wrong, a.Attached().Update()...)) }
}

// Attached returns the MCP servers of the host that was opened last, or nil while it is being opened.
func (a *App) Attached() *servers.Attached { return a.attached.Load() }

// Servers returns the MCP servers of a project and of the user.
func (a *App) Servers(root string) *servers.Options {
	o := &servers.Options{Root: root, Scope: a.Scope(), Env: a.Env, Version: Version(), Tokens: a.inHome("state/mcp-auth"), Changes: a.inHome("state/mcp-changed"), Secrets: a.SecretFiles}
	if c, err := a.ReadConfig(""); err == nil && (launch.Confined() || !c.Sandbox.Confines()) {
		o.Launch = launch.New(a.Worker())
	}
	return o
}

// ServerHint returns what to do if the host lacks a tool because it is one of a server that is
// not used yet; otherwise it is "".
func (a *App) ServerHint(name string) string {
	root, err := a.Root()
	key, _, isServers := strings.Cut(tool.Key(name), "__")
	if err != nil || !isServers {
		return ""
	}
	o := a.Servers(root)
	entries, _ := o.Entries()
	for i := range entries {
		e := &entries[i]
		if tool.Key(e.Name) != key {
			continue
		}
		if !e.Trusted {
			return e.ReviewHint()
		}
		return "review the tools of the server with: cassidy mcp review " + e.Name
	}
	return ""
}
