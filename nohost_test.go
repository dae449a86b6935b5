package cassidy_test

import (
	"context"
	"testing"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/agent/codemode"
	"github.com/cassidy-run/cassidy/runtime/hooks"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/mcp"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestNoHost checks the functions that take a host, for a program that has not looked at the error of Open. The methods of a
// host are tested in package host.
func TestNoHost(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]*cassidy.Host{"nil": nil, "zero": {}} {
		for what, use := range map[string]func() error{
			"AddTool": func() error {
				return cassidy.AddTool(h, cassidy.Tool{Name: "a", Description: "Do it."}, func(context.Context, struct{}) (string, error) { return "", nil })
			},
			"agent.New":          func() error { _, err := agent.New(h, &agent.Options{}); return err },
			"agent.Register":     func() error { return agent.Register(h, func() (*agent.Options, error) { return nil, nil }) },
			"agent.RegisterCode": func() error { return agent.RegisterCode(h) },
			"agent.RegisterKinds": func() error {
				return agent.RegisterKinds(h, func(context.Context, agent.Settings) (*agent.Options, error) { return nil, nil })
			},
			"agent.Resume": func() error { _, err := agent.Resume(t.Context(), h, "r"); return err },
			"agent.Metered": func() error {
				_, _, err := agent.Metered(t.Context(), h, &host.Program{Name: "p"}, agent.Ceilings{})
				return err
			},
			"codemode.Register": func() error { return codemode.Register(h) },
			"hooks.New":         func() error { _, err := hooks.New(h, nil); return err },
			"mcp.New":           func() error { _, err := mcp.New(h, nil); return err },
		} {
			t.Run(name+"/"+what, func(t *testing.T) {
				defer func() {
					if p := recover(); p != nil {
						t.Errorf("panic: %v", p)
					}
				}()
				if err := use(); value.KindOf(err) != value.Invalid {
					t.Errorf("it returned %v, want kind Invalid", err)
				}
			})
		}
	}
}

// TestNoRuntime checks the methods of a runtime that New has not made.
func TestNoRuntime(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]*cassidy.Runtime{"nil": nil, "zero": {}} {
		_, opened := r.Open(cassidy.Dir(t.TempDir()), nil)
		var due error
		for _, due = range r.Due(t.Context()) {
		}
		for what, err := range map[string]error{"Open": opened, "Due": due, "Close": r.Close(), "Shutdown": r.Shutdown(t.Context())} {
			if value.KindOf(err) != value.Invalid {
				t.Errorf("%s/%s: %v, want kind Invalid", name, what, err)
			}
		}
	}
}
