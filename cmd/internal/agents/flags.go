// Package agents makes agents from the flags of a command, from the options of a
// recorded run and from the files of a project, and prints their replies. It has the commands
// that have a model work on a task, and that list agents and models.
package agents

import (
	"cmp"
	"context"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/approve"
	"github.com/cassidy-run/cassidy/cmd/internal/models"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/agent/decision"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Flags returns the flags of the commands that ask a model, with the defaults of some.
func Flags(tools, policy, context string, patience time.Duration) []cli.Flag {
	return append(append(approve.Flags(), append(LimitFlags("set by the policy, such as 10 for task and 5 for chat"), RequestFlags()...)...),
		&cli.StringFlag{Name: "model", Usage: "ask `MODEL`: " + models.Choices, DefaultText: "the model of --agent, else " + models.Default},
		&cli.StringFlag{Name: "agent", Usage: "run the agent `NAME`, which is defined by an agent file; to list the agents: cassidy agents"},
		&cli.StringSliceFlag{Name: "tools", Usage: "let the model call the tools in `LIST`: auto (all available tools), none, or items with commas between them; an item is the name of a tool, @GROUP (all tools of a group) or preset:NAME (a selection such as preset:read_only)", DefaultText: tools},
		&cli.StringFlag{Name: "policy", Usage: "control the conversation with the policy `NAME`, which is a script: task, chat, plan, review, best, debate, planner, or a file in .cassidy/policies", DefaultText: policy},
		&cli.StringFlag{Name: "format", Usage: "have the model write tool calls in `FORMAT`: pure_json, xml_json, markdown, native or code", DefaultText: "native if the model supports it, else pure_json"},
		&cli.StringFlag{Name: "context", Usage: "give the model a description of the project: `LEVEL` is none, minimal, standard or comprehensive", DefaultText: context},
		&cli.StringSliceFlag{Name: "context-file", Usage: "add the text of `FILE` to the description of the project that the model gets"},
		&cli.StringFlag{Name: "docs", Usage: "set how the tools are described to the model: `LENGTH` is detailed (each parameter with its description), brief (one line for each tool, with the types of its parameters) or auto (detailed for at most ten tools, else brief)", DefaultText: "auto"},
		HooksFlag(),
		&cli.StringSliceFlag{Name: "skill", Usage: "load the skill `NAME` at the start"},
		&cli.BoolFlag{Name: "repeat-instructions", Usage: "repeat in every message how to write tool calls"},
		&cli.BoolFlag{Name: "no-inference", Usage: "ignore tool calls that the model only announces in plain text"},
		&cli.StringFlag{Name: "tool-choice", Usage: "set which tool the model calls first: `CHOICE` is auto (the model decides), none (the model cannot call tools), required (any tool) or the name of a tool; every CHOICE except auto needs the format native"},
		&cli.StringFlag{Name: "thread", Usage: "continue the conversation that has this `ID` at the provider; of the providers, only CassidyAI keeps conversations"},
		&cli.StringFlag{Name: "run-id", Usage: "record the run under `ID`"},
		&cli.DurationFlag{Name: "timeout", Value: patience, Usage: "stop waiting if the model sends no data for `TIME`, such as 90s or 5m"},
	)
}

// A Setup is what the flags select.
type Setup struct {
	Options agent.Options
	RunID   string
	Skills  []string // those of the first message
	// ContextFiles are the files of --context-file.
	ContextFiles []string
	// named are the files that --context names.
	named []string
	// Warnings are what a dry run could not check.
	Warnings []string
	// Word is the model that the flags, the agent file or the user have chosen; "" is that of the config.
	Word string

	shared  bool // the host executes several runs, and has the tools of [RegisterWithin]
	chosen  choice
	current *agent.Options // of the agents that the tool agent starts
}

// An absent model has no key: a dry run checks everything else.
type absent string

// Name implements [model.Model].
func (m absent) Name() string { return cmp.Or(string(m), "none") }

// Native implements [model.Model]. Of the models that need a key, only those of CassidyAI have no
// native calls.
func (m absent) Native() bool { return m != "" && !strings.HasPrefix(string(m), "cassidy") }

// Ask implements [model.Model].
func (m absent) Ask(context.Context, *model.Request) (*model.Reply, error) {
	return nil, value.Errorf(value.Unavailable, "the model %s is not available in a dry run", m.Name())
}

// Unlimited is the maximum number of requests to a model: a run cannot have more effects.
const Unlimited = host.MaxRunEffects

// ReadFlags reads the flags, with the defaults for the tools and the policy.
func ReadFlags(a *app.App, ctx *cli.Context, h *host.Host, defaultTools []string, policy string) (*Setup, error) {
	id, err := app.RunID(ctx)
	if err != nil {
		return nil, err
	}
	s := &Setup{RunID: id, Skills: app.Words(ctx.StringSlice("skill"))}
	o := &s.Options
	conf, err := a.ReadConfig("")
	if err != nil {
		return nil, err
	}
	s.chosen = choice{config: ofAgents(&conf), format: ctx.String("format"), docs: ctx.String("docs"), repeats: ctx.Bool("repeat-instructions"), repeatsSet: ctx.IsSet("repeat-instructions")}
	s.chosen.apply(o)
	o.NoInference = ctx.Bool("no-inference")
	word, err := readAgent(a, ctx, h, o)
	if err != nil {
		return nil, err
	}
	s.Word = word
	o.Model, err = a.Models().Open(ctx.Context, h, word, o.Format == decision.Native)
	if err != nil && ctx.Bool("dry-run") && value.KindOf(err) == value.Unavailable {
		s.Warnings = append(s.Warnings, "the model was not checked: "+value.ErrorOf(err, value.Unavailable).Message())
		o.Model, err = absent(word), nil
	}
	if err != nil {
		return nil, ofFile(err, o.As, ctx)
	}
	if o.ModelName, err = a.Models().Name(word); err != nil {
		return nil, err
	}
	o.ModelName = a.Models().Lasting(o.ModelName)
	if o.Idle = ctx.Duration("timeout"); o.Idle <= 0 {
		return nil, value.Errorf(value.Invalid, "--timeout must be a positive duration, not %s", o.Idle).WithHint("for example: --timeout 90s")
	}
	if o.Tools = defaultTools; o.As != nil {
		policy, o.Tools = cmp.Or(o.As.Policy, policy), []string{"auto"}
	}
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
	if err = requestFlags(ctx, o); err != nil {
		return nil, err
	}
	if o.Hooks, err = Hooks(a); err != nil {
		return nil, err
	}
	if s.named, err = fillProject(ctx.Context, a, h, o, ctx.String("context")); err != nil {
		return nil, err
	}
	s.ContextFiles = ctx.StringSlice("context-file")
	o.Context, err = withContextFiles(o.Context, s.ContextFiles)
	return s, err
}

// maxContextFile is the limit of a file of --context-file, in bytes.
const maxContextFile = 1 << 20

// withContextFiles returns a description of a project with the texts of files at its end.
func withContextFiles(text string, files []string) (string, error) {
	parts := []string{text}
	if text == "" {
		parts = nil
	}
	for _, file := range files {
		data, err := ui.ReadRegular(file, maxContextFile)
		if err != nil {
			return "", value.ErrorOf(err, value.Invalid).WithOp("read --context-file " + file)
		}
		if !utf8.Valid(data) {
			return "", value.Errorf(value.Invalid, "read --context-file %s: the file is not UTF-8 text", file).WithHint("to send an image or a PDF, use --attach %s", file)
		}
		parts = append(parts, "## "+filepath.Base(file)+"\n\n"+strings.TrimSpace(string(data)))
	}
	return strings.Join(parts, "\n\n"), nil
}

// CeilingFlags returns the flags that bound what a run uses.
func CeilingFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "max-tokens", Usage: "stop the run when it and its sub-agents have used `N` tokens; the run can be resumed with a higher limit"},
		&cli.StringFlag{Name: "max-cost", Usage: "stop the run when it and its sub-agents have cost `N` US dollars"},
		&cli.StringFlag{Name: "max-requests", Usage: "stop the run when it and its sub-agents have sent `N` requests to models"},
	}
}

// LimitFlags returns the flags that bound what the run of an agent uses. A run that has reached one
// of them can be resumed with a higher one. iterations describes the default of that limit.
func LimitFlags(iterations string) []cli.Flag {
	return append(CeilingFlags(),
		&cli.StringFlag{Name: "max-iterations", Usage: "send at most `N` requests to the model for a task or message; \"unlimited\" sets no limit", DefaultText: iterations})
}

// RequestFlags returns the flags that are a part of each request to a model.
func RequestFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "effort", Usage: "set how much the model reasons: `LEVEL` is none, minimal, low, medium, high, xhigh or max; not every model supports every level"},
		&cli.StringFlag{Name: "max-output-tokens", Usage: "limit each reply of the model to `N` tokens"},
		&cli.StringFlag{Name: "temperature", Usage: "set the temperature of the model to `T`, from 0 to 2"},
	}
}

// PutRequestFlags adds the flags that each request of a run to models has to its options, see
// [agent.Metered].
func PutRequestFlags(ctx *cli.Context, options *value.Dict) error {
	o := agent.Options{}
	if err := requestFlags(ctx, &o); err != nil {
		return err
	}
	v, err := value.FromGo(agent.Settings{MaxTokens: o.MaxTokens, Effort: o.Effort, Temperature: o.Temperature, Ceilings: o.Ceilings})
	d, _ := v.(*value.Dict)
	for _, name := range []string{"max_tokens", "effort", "temperature", "ceilings"} {
		if set, ok := d.Get(name); ok {
			options.Put(name, set)
		}
	}
	return err
}

// Ceilings reads the flags that bound what a run uses.
func Ceilings(ctx *cli.Context) (c agent.Ceilings, err error) {
	if c.Tokens, err = positive(ctx, "max-tokens", "100000"); err != nil {
		return c, err
	}
	if c.Requests, err = positive(ctx, "max-requests", "50"); err != nil || !ctx.IsSet("max-cost") {
		return c, err
	}
	text := ctx.String("max-cost")
	c.CostUSD, err = strconv.ParseFloat(strings.TrimPrefix(text, "$"), 64)
	if err != nil || !(c.CostUSD > 0) || math.IsInf(c.CostUSD, 0) {
		return c, value.Errorf(value.Invalid, "--max-cost must be a positive amount in US dollars, not %q", text).WithHint("for example: --max-cost 0.50")
	}
	return c, nil
}

// Raised reads the limits with which a run is resumed.
func Raised(a *app.App, ctx *cli.Context) (o agent.Options, err error) {
	if o.Iterations, err = iterations(a, ctx.String("max-iterations")); err != nil {
		return o, err
	}
	o.Ceilings, err = Ceilings(ctx)
	return o, err
}

// positive reads a flag that is a number above 0. It returns 0 if the flag is not set.
func positive(ctx *cli.Context, name, example string) (int, error) {
	text := ctx.String(name)
	if !ctx.IsSet(name) {
		return 0, nil
	}
	n, err := strconv.Atoi(strings.NewReplacer(",", "", "_", "").Replace(text))
	if err != nil || n < 1 {
		return 0, value.Errorf(value.Invalid, "--%s must be a positive integer, not %q", name, text).WithHint("for example: --%s %s", name, example)
	}
	return n, nil
}

// requestFlags reads the flags that each request to the model has.
func requestFlags(ctx *cli.Context, o *agent.Options) (err error) {
	if o.Ceilings, err = Ceilings(ctx); err != nil {
		return err
	}
	if o.MaxTokens, err = positive(ctx, "max-output-tokens", "8000"); err != nil {
		return err
	}
	o.Effort, o.ToolChoice = strings.ToLower(ctx.String("effort")), ctx.String("tool-choice")
	if !ctx.IsSet("temperature") {
		return nil
	}
	t, err := strconv.ParseFloat(ctx.String("temperature"), 64)
	if err != nil {
		return value.Errorf(value.Invalid, "--temperature must be a number from 0 to 2, not %q", ctx.String("temperature")).WithHint("for example: --temperature 0.2")
	}
	o.Temperature = &t
	return nil
}

// iterations reads --max-iterations. 0 is the default of the policy.
func iterations(a *app.App, text string) (int, error) {
	switch strings.ToLower(text) {
	case "":
		return 0, nil
	case "unlimited", "inf":
		a.Warn("the number of requests to the model is unlimited; stop the run with Ctrl-C")
		return Unlimited, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, value.Errorf(value.Invalid, "--max-iterations must be a positive number or unlimited, not %q", text).WithHint("for example: --max-iterations 20")
	}
	return min(n, Unlimited), nil
}
