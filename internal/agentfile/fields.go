package agentfile

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/internal/jsonschema"
	"github.com/cassidy-run/cassidy/internal/yaml"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A parser reads the front matter of one file.
type parser struct {
	to       *tool.Agent
	meta     string
	warnings []string
}

func (p *parser) warn(format string, args ...any) {
	p.warnings = append(p.warnings, folder.OneLine(fmt.Sprintf(format, args...)))
}

// readers returns the fields of the front matter. Those of Claude Code and opencode have the names
// that these programs use.
func readers() map[string]func(*parser, string, value.Value) error {
	text := func(to func(d *tool.Agent) *string) func(*parser, string, value.Value) error {
		return func(p *parser, name string, v value.Value) error { return p.text(name, v, to(p.to)) }
	}
	flag := func(to func(d *tool.Agent) *bool) func(*parser, string, value.Value) error {
		return func(p *parser, name string, v value.Value) (err error) {
			*to(p.to), err = boolOf(name, v)
			return err
		}
	}
	unused := func(why string) func(*parser, string, value.Value) error {
		return func(p *parser, name string, _ value.Value) error {
			p.warn("'%s' is ignored: %s", name, why)
			return nil
		}
	}
	const unsupported = "cassidy does not support it"
	return map[string]func(*parser, string, value.Value) error{
		"name":            text(func(d *tool.Agent) *string { return &d.Name }),
		"description":     text(func(d *tool.Agent) *string { return &d.Description }),
		"model":           (*parser).model,
		"effort":          text(func(d *tool.Agent) *string { return &d.Effort }),
		"temperature":     (*parser).temperature,
		"policy":          text(func(d *tool.Agent) *string { return &d.Policy }),
		"tools":           (*parser).tools,
		"disallowedTools": (*parser).disallowed,
		"permissions":     (*parser).permissions,
		"permission":      (*parser).permissions,
		"permissionMode":  (*parser).permissionMode,
		"maxTurns":        (*parser).iterations,
		"maxSteps":        (*parser).iterations,
		"output_schema":   (*parser).schema,
		"limits":          (*parser).limits,
		"mode":            (*parser).mode,
		"hidden":          flag(func(d *tool.Agent) *bool { return &d.Hidden }),
		"disable":         flag(func(d *tool.Agent) *bool { return &d.Disabled }),
		"color":           func(*parser, string, value.Value) error { return nil },
		"hooks":           unused("hooks of agent files are never run"),
		"skills":          unused(unsupported),
		"mcpServers":      unused(unsupported),
		"memory":          unused(unsupported),
		"background":      unused(unsupported),
		"isolation":       unused(unsupported),
		"top_p":           unused(unsupported),
	}
}

// Fields returns the names of the fields that an agent file may have, sorted.
func Fields() []string { return slices.Sorted(maps.Keys(readers())) }

// read reads all fields.
func (p *parser) read(fields *value.Dict) error {
	known := readers()
	for k, v := range fields.All() {
		name, _ := k.(string)
		read, ok := known[name]
		if !ok {
			p.warn("unknown field '%.80s' is ignored%s", name, value.DidYouMean(name, Fields()))
			continue
		}
		if v == nil {
			continue // as if it were missing
		}
		if err := read(p, name, v); err != nil {
			return p.at(err, name)
		}
	}
	if err := tool.CheckName(p.to.Name); err != nil {
		e := value.Errorf(value.Invalid, "invalid name of an agent: %q", value.Clean(p.to.Name, 2*tool.MaxName))
		return p.at(e.WithHint("%s", value.ErrorOf(err, value.Invalid).Hint), "name")
	}
	if p.to.Description == "" {
		return value.Errorf(value.Invalid, "the agent has no description").WithHint(`add to the front matter: "description: what the agent is for and when to use it"`)
	}
	return nil
}

// at adds the line of a field to an error.
func (p *parser) at(err error, field string) error {
	e := *value.ErrorOf(err, value.Invalid)
	if line := yaml.Line(p.meta, field); e.Pos.Line == 0 && line > 0 {
		e.Pos.Line = line + 1 // the line --- above
	}
	return &e
}

func wrongType(name, want string, v value.Value) *value.Error {
	return value.Errorf(value.Invalid, "'%s' should be %s but got %s", name, want, value.TypeOf(v))
}

func (p *parser) text(name string, v value.Value, to *string) error {
	text, ok := v.(string)
	if !ok {
		return wrongType(name, "a string", v).WithHint("put the value in quotes")
	}
	*to = folder.OneLine(text)
	return nil
}

func boolOf(name string, v value.Value) (bool, error) {
	b, ok := v.(bool)
	if !ok {
		return false, wrongType(name, "true or false", v)
	}
	return b, nil
}

// positive reads a number above 0.
func positive(name string, v value.Value) (int, error) {
	n, ok := v.(int64)
	if !ok || n < 1 || n > math.MaxInt32 {
		return 0, value.Errorf(value.Invalid, "'%s' should be a positive number but got %s", name, brief(v))
	}
	return int(n), nil
}

func brief(v value.Value) string { return value.Clean(value.FormatJSON(v, ""), 80) }

func (p *parser) model(name string, v value.Value) error {
	if err := p.text(name, v, &p.to.Model); err != nil {
		return err
	}
	if strings.EqualFold(p.to.Model, "inherit") {
		p.to.Model = ""
	}
	return nil
}

func (p *parser) temperature(name string, v value.Value) error {
	t, ok := v.(float64)
	if n, isInt := v.(int64); isInt {
		t, ok = float64(n), true
	}
	if !ok || !(t >= 0 && t <= 2) {
		return value.Errorf(value.Invalid, "'%s' should be a number from 0 to 2 but got %s", name, brief(v))
	}
	p.to.Temperature = &t
	return nil
}

func (p *parser) iterations(name string, v value.Value) (err error) {
	p.to.Iterations, err = positive(name, v)
	return err
}

func (p *parser) mode(name string, v value.Value) error {
	if err := p.text(name, v, &p.to.Mode); err != nil {
		return err
	}
	modes := []string{tool.AgentModeAll, tool.AgentModePrimary, tool.AgentModeSubagent}
	if !slices.Contains(modes, p.to.Mode) {
		return value.Errorf(value.Invalid, "unknown mode %q%s", p.to.Mode, value.DidYouMean(p.to.Mode, modes)).WithHint("use one of: \"%s\"", strings.Join(modes, `", "`))
	}
	return nil
}

func (p *parser) schema(name string, v value.Value) error {
	switch v := v.(type) {
	case string:
		t, err := tool.ParseAnnotation(v)
		if err != nil {
			return value.Errorf(value.Invalid, "'%s' is invalid: %w", name, err).WithHint(`write a JSON Schema, or a type such as "list[str]"`)
		}
		p.to.Schema = t.JSONSchema()
	case *value.Dict:
		p.to.Schema = v
	default:
		return wrongType(name, "a JSON Schema, or a type such as \"list[str]\",", v)
	}
	text, err := value.AppendJSON(nil, p.to.Schema)
	if err == nil {
		_, err = jsonschema.New(text, nil)
	}
	if err == nil {
		err = jsonschema.CheckTypes(p.to.Schema)
	}
	for _, text := range jsonschema.Misspelled(p.to.Schema) {
		p.warn("'%s': %s", name, text)
	}
	if err != nil {
		return value.Errorf(value.Invalid, "'%s' is invalid: %w", name, err).WithHint("write a JSON Schema, as in {type: object, properties: {title: {type: string}}}")
	}
	return nil
}

func (p *parser) limits(name string, v value.Value) error {
	fields, ok := v.(*value.Dict)
	if !ok {
		return wrongType(name, "an object, as in {requests: 20, cost: 0.50},", v)
	}
	for k, v := range fields.All() {
		field, _ := k.(string)
		var err error
		switch l := &p.to.Limits; field {
		case "tokens":
			l.Tokens, err = positive(name+"."+field, v)
		case "requests":
			l.Requests, err = positive(name+"."+field, v)
		case "tool_calls":
			l.ToolCalls, err = positive(name+"."+field, v)
		case "cost":
			l.CostUSD, err = dollars(name+"."+field, v)
		case "time":
			l.Time, err = duration(name+"."+field, v)
		default: // a limit that is not understood must not be lost
			err = value.Errorf(value.Invalid, "unknown field '%s.%.80s'%s", name, field, value.DidYouMean(field, []string{"cost", "requests", "time", "tokens", "tool_calls"})).
				WithHint("the limits are cost, requests, time, tokens and tool_calls")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func duration(name string, v value.Value) (time.Duration, error) {
	text, _ := v.(string)
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, value.Errorf(value.Invalid, "'%s' should be a positive duration with a unit but got %s", name, brief(v)).WithHint(`for example: "time: 5m"`)
	}
	return d, nil
}

func dollars(name string, v value.Value) (float64, error) {
	cost, ok := v.(float64)
	if n, isInt := v.(int64); isInt {
		cost, ok = float64(n), true
	}
	if !ok || !(cost > 0 && cost < 1e9) {
		return 0, value.Errorf(value.Invalid, "'%s' should be a positive amount in US dollars but got %s", name, brief(v)).WithHint(`for example: "cost: 0.50"`)
	}
	return cost, nil
}
