// Package toolset describes the tools of a host: where they come from, what the host
// knows of each, and whether it can be called.
package toolset

import (
	"context"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A State is whether a tool can be called.
type State string

// The states of a tool.
const (
	Ready     State = "ready"
	NotHere   State = "unavailable" // its own check reports that it cannot be used here
	Untrusted State = "untrusted"   // nobody has reviewed it
)

// A Standing is where a tool comes from and whether it may be used: what a host adds to its
// declaration.
type Standing struct {
	Location tool.Location
	Path     string // the file that declares it, or ""
	Hash     string // of the file and what it loads, or ""
	State    State
	Reason   string // why it is not ready, or ""
	Revoked  bool   // its user has revoked the trust
	// Granted are the capabilities that its user has granted. An effect requires its
	// capability here and in Needs.
	Granted []tool.Capability
}

// An Info is a tool of a host: what its author declares, and its Standing.
type Info struct {
	tool.Tool
	Standing
	Warnings []string // about the declaration, which is valid
}

// InGo is a tool written in Go, with its handler; see Host.Register.
type InGo struct {
	Tool tool.Tool
	Do   func(ctx context.Context, args *value.Dict) (value.Value, error)
	// Foreign says that another program carries the tool out, such as an attached server: it gets the
	// arguments, whatever it says of itself.
	Foreign bool
}

// A Head is the part of an [Info] that a list shows.
type Head struct {
	tool.Head
	Standing
}

// A Found is a tool that a search of a source has found.
type Found struct {
	Head Head
	// Declared returns the declaration of the tool. It is called when more than Head is
	// needed.
	Declared func() (tool.Described, error)
	// Load returns the source of the tool. It is called when the tool is first called.
	Load func() (tool.Script, error)
}

// Settings are what the user and the program of a host may change while it is open. What uses them may not
// change them.
type Settings struct {
	Rules []tool.Rule
	// The sources whose text is trusted, and others whose text is not, as in the options of a host.
	TrustedSources, UntrustedSources []string
	Maxima
}

// Maxima bound what any call of a host may use. The zero value bounds nothing.
type Maxima struct {
	Timeout  time.Duration // the wall time of a call; 0 means no maximum
	Limits   tool.Limits   // a zero field means no maximum
	Question time.Duration // how long a question can be answered; 0 means forever
}
