// Package agents makes agents from the flags of a command, from the options of a
// recorded run and from the files of a project, and prints their replies.
package agents

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/app"
	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/approve"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/agent/decision"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Flags returns the flags of the commands that ask a model, with the defaults of some.
func Flags(tools, policy, context string, patience time.Duration) []cli.Flag {
	return append(approve.Flags(),
		&cli.StringFlag{Name: "model", Usage: "ask `MODEL`: cassidy, openai:NAME, anthropic:NAME, gemini:NAME, ollama:NAME, script:FILE.star, or PROVIDER:NAME with a provider of your config.yaml; cassidy models lists them"},
		&cli.StringSliceFlag{Name: "tools", Usage: "offer the tools in `LIST`: auto (all available tools), none, or a comma-separated list of names of tools, @GROUP (all tools of a group) and preset:NAME (a selection such as preset:read_only)", DefaultText: tools},
		&cli.StringFlag{Name: "policy", Usage: "use the policy `NAME`, a script that controls the conversation with the model: task, chat, plan, review, or a file in .cassidy/policies", DefaultText: policy},
		&cli.StringFlag{Name: "format", Usage: "have the model write tool calls in `FORMAT`: pure_json, xml_json, markdown, native or code", DefaultText: "native if the model supports it, else pure_json"},
		&cli.StringFlag{Name: "max-iterations", Usage: "ask the model at most `N` times; \"unlimited\" sets no limit"},
		&cli.StringFlag{Name: "context", Usage: "give the model a description of the project: `LEVEL` is none, minimal, standard or comprehensive", DefaultText: context},
		&cli.StringSliceFlag{Name: "skill", Usage: "load the skill `NAME` at the start"},
		&cli.BoolFlag{Name: "repeat-instructions", Usage: "repeat in every message how to write tool calls"},
		&cli.BoolFlag{Name: "no-inference", Usage: "ignore tool calls that the model only announces in plain text"},
		&cli.StringFlag{Name: "run-id", Usage: "record the run under `ID`"},
		&cli.DurationFlag{Name: "timeout", Value: patience, Usage: "stop waiting if the model sends no data for `TIME`, such as 90s or 5m"},
	)
}

// A Setup is what the flags select.
type Setup struct {
	Options agent.Options
	RunID   string
	Skills  []string // those of the first message
}

// Unlimited is the maximum number of requests to a model: a run cannot have more effects.
const Unlimited = host.MaxRunEffects

// ReadFlags reads the flags, with the defaults for the tools and the policy.
func ReadFlags(a *app.App, ctx *cli.Context, h *host.Host, defaultTools []string, policy string) (*Setup, error) {
	s := &Setup{RunID: ctx.String("run-id"), Skills: app.Words(ctx.StringSlice("skill"))}
	if s.RunID != "" {
		if err := app.CheckRunName(s.RunID); err != nil {
			return nil, err
		}
	}
	o := &s.Options
	o.Format = decision.Format(ctx.String("format"))
	o.RepeatInstructions, o.NoInference = ctx.Bool("repeat-instructions"), ctx.Bool("no-inference")
	var err error
	if o.Model, err = a.Models().Open(ctx.Context, h, ctx.String("model"), o.Format == decision.Native); err != nil {
		return nil, err
	}
	if o.ModelName, err = a.Models().Name(ctx.String("model")); err != nil {
		return nil, err
	}
	o.ModelName = a.Models().Lasting(o.ModelName)
	if o.Idle = ctx.Duration("timeout"); o.Idle <= 0 {
		return nil, value.Errorf(value.Invalid, "--timeout must be a positive time, not %s", o.Idle).WithHint("for example: --timeout 90s")
	}
	o.Tools = defaultTools
	if words := app.Words(ctx.StringSlice("tools")); len(words) > 0 {
		o.Tools = words
	} else if ctx.IsSet("tools") {
		return nil, value.Errorf(value.Invalid, "--tools is empty").WithHint("use --tools NAME, --tools none or --tools auto")
	}
	if len(o.Tools) == 1 && o.Tools[0] == "none" {
		o.Tools = []string{}
	}
	o.Policy = cmp.Or(ctx.String("policy"), policy)
	if o.Iterations, err = iterations(a, ctx.String("max-iterations")); err != nil {
		return nil, err
	}
	return s, fillProject(ctx.Context, a, o, ctx.String("context"))
}

// iterations reads --max-iterations. 0 is the default of the policy.
func iterations(a *app.App, text string) (int, error) {
	switch strings.ToLower(text) {
	case "":
		return 0, nil
	case "unlimited", "inf":
		a.Note("the number of requests to the model is unlimited; stop the run with Ctrl-C")
		return Unlimited, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, value.Errorf(value.Invalid, "--max-iterations must be a positive number or unlimited, not %q", text).WithHint("for example: --max-iterations 20")
	}
	return min(n, Unlimited), nil
}
