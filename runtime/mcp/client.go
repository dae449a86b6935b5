//lint:file-ignore SA1019 clients of older versions have logging, sampling and roots.

package mcp

import (
	"context"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

// stateless is the first version of the protocol without sessions, in which a server asks by
// its result.
const stateless = "2026-07-28"

// A client is who has sent a request, and what it can do.
type client struct {
	session *sdk.ServerSession
	can     *sdk.ClientCapabilities // nil: nothing
	version string                  // of the protocol
	token   any                     // with which it wants progress; nil: none
	pulse   *pulse                  // of this request
	hears   bool                    // it may want what a tool reports during its call
	tasks   bool                    // it has declared the extension for tasks
}

func clientOf[P interface {
	sdk.Params
	GetProgressToken() any
}](r *sdk.ServerRequest[P]) client {
	can, version, token := r.ClientCapabilities(), r.ProtocolVersion(), r.Params.GetProgressToken()
	_, logs := r.Params.GetMeta()[sdk.MetaKeyLogLevel]
	// An older client sets the level of its log lines at any time, also during a call.
	return client{r.Session, can, version, token, &pulse{}, token != nil || logs || version < stateless, hasTasks(can)}
}

// showsAll reports whether the client shows its model a result as it is, with the text and the same data as structured content.
func (c client) showsAll() bool {
	params := c.session.InitializeParams()
	return params != nil && params.ClientInfo != nil && strings.HasPrefix(params.ClientInfo.Name, "@cline/")
}

// hasTasks reports whether a client has declared the extension for tasks.
func hasTasks(can *sdk.ClientCapabilities) bool {
	if can == nil {
		return false
	}
	_, declared := can.Extensions[tasksExtension]
	return declared
}

// notify sends a report of a tool to the client: progress if it wants it, log lines if it has
// set a level.
func (c client) notify(ctx context.Context, name string, e tool.Event) {
	switch report := e.Data.(type) {
	case tool.Progress:
		c.progress(ctx, report)
	case tool.Log:
		_ = c.session.Log(ctx, &sdk.LoggingMessageParams{Level: "info", Logger: name, Data: report.Message})
	}
}

// accepts reports whether the client can answer an input request.
func (c client) accepts(input sdk.InputRequest) bool {
	if c.can == nil {
		return false
	}
	switch input.(type) {
	case *sdk.ElicitParams:
		return c.can.Elicitation != nil && (c.can.Elicitation.Form != nil || c.can.Elicitation.URL == nil)
	case *sdk.CreateMessageParams:
		return c.can.Sampling != nil
	case *sdk.ListRootsParams:
		return c.can.RootsV2 != nil || c.can.Roots.ListChanged
	}
	return false
}

// send asks a client of a version with sessions.
func (c client) send(ctx context.Context, input sdk.InputRequest) (sdk.InputResponse, error) {
	switch params := input.(type) {
	case *sdk.CreateMessageParams:
		return c.session.CreateMessage(ctx, params)
	case *sdk.ListRootsParams:
		return c.session.ListRoots(ctx, params)
	}
	return c.session.Elicit(ctx, input.(*sdk.ElicitParams))
}

// lacks returns the error of the protocol that the client has not declared what an input
// request takes.
func lacks(input sdk.InputRequest) error {
	needs := map[string]any{}
	switch input.(type) {
	case *sdk.CreateMessageParams:
		needs["sampling"] = struct{}{}
	case *sdk.ListRootsParams:
		needs["roots"] = struct{}{}
	}
	return missing("the tool asks for something that the client has not declared", needs)
}

// lacksTasks returns the error that the client has not declared the extension for tasks.
func lacksTasks() error {
	return missing("the tool is only for clients with the extension "+tasksExtension,
		map[string]any{"extensions": map[string]any{tasksExtension: struct{}{}}})
}

func missing(message string, capabilities map[string]any) error {
	return &jsonrpc.Error{
		Code: sdk.CodeMissingRequiredClientCapabilities, Message: message,
		Data: jsonOf(map[string]any{"requiredCapabilities": capabilities}),
	}
}
