package cassidy

import (
	"cmp"
	"net/netip"
	"reflect"
	"slices"

	"github.com/cassidy-run/cassidy/internal/config"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/shell"
)

// Settings are what a host has of the program and of the configs, beside rules and sources, as the configs
// were when the source was searched last.
type settings struct {
	secrets     map[string]config.SecretSource
	commands    map[string]CommandRule
	private     []netip.Prefix
	unprotected []string
	maxima      toolset.Maxima
	sandbox     config.SandboxConfig
}

// settingsOf returns the settings. It fails with kind Invalid for a rule for commands that cannot hold.
func settingsOf(o *Options, c *config.Config) (*settings, error) {
	commands, err := commandRules(o, c)
	if err == nil {
		err = shell.CheckRules(commands)
	}
	if err != nil {
		return nil, err
	}
	return &settings{
		secrets: c.Secrets, commands: commands, private: slices.Concat(o.Private, c.PrivateHosts), unprotected: c.Unprotected, sandbox: c.Sandbox,
		maxima: toolset.Maxima{Timeout: maxTimeout(o, c), Limits: o.MaxLimits.AtMost(c.Limits.Limits), Question: cmp.Or(o.QuestionTimeout, c.Runs.AnswerWithin)},
	}, nil
}

// restarts returns an error for what has changed in the configs and is not applied to the running program.
func (f *finder) restarts() []*Error {
	now, found := f.now.Load().settings, f.found.Load()
	if found == nil {
		return nil
	}
	var wrong []*Error
	if found.sandbox.Mode != f.opened.Mode || found.sandbox.Confines() != f.opened.Confines() {
		wrong = append(wrong, value.Errorf(value.Conflict, "the field 'sandbox' has changed: it applies after a restart").
			WithHint("restart this command; in Go, open the host in a new Runtime"))
	}
	if own := *now; f.fixed {
		if own.sandbox = found.sandbox; !reflect.DeepEqual(own, *found) {
			wrong = append(wrong, value.Errorf(value.Conflict, "secrets, http, commands, unprotected, limits or runs have changed: they apply after a restart, because tools can write this file").
				WithHint("restart this command, and move the file to a folder outside of the project; in Go, open the host again"))
		}
	}
	for i, e := range wrong {
		own := *e
		own.Pos.File = f.file
		wrong[i] = &own
	}
	return wrong
}
