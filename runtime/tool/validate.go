package tool

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/internal/jsonschema"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// maxDescription is how long the description of a tool may be, in bytes. A
// model reads every description on every turn.
const maxDescription = 16 << 10

// Validate checks the definition of a tool: its name, description, capabilities, types and
// constraints, and that defaults and examples pass its own check. An error is of kind
// Invalid or Limit. It compiles Schema, so call it before the tool is used concurrently.
func (t *Tool) Validate() error {
	if err := CheckCallName(t.Name); err != nil {
		return err
	}
	if strings.TrimSpace(t.Description) == "" {
		return value.Errorf(value.Invalid, "tool '%s' has no description", t.Name).
			WithHint("describe in a sentence what the tool does and when to use it")
	}
	for _, c := range t.Needs {
		if _, err := ParseCapability(c.String()); err != nil {
			return err
		}
	}
	if len(t.Description) > maxDescription {
		return value.Errorf(value.Invalid, "the description is longer than %d KB", maxDescription>>10)
	}
	if err := validateParams(t.Params); err != nil {
		return err
	}
	if t.Returns != nil {
		if err := t.Returns.validate("the result"); err != nil {
			return err
		}
	}
	if len(t.Schema) > 0 {
		compiled, err := jsonschema.New(t.Schema, nil)
		if err != nil {
			return err
		}
		t.compiled = compiled
	}
	if t.OnlyCalls && len(t.Steps) > 0 {
		return value.Errorf(value.Invalid, "OnlyCalls and Steps are mutually exclusive: a tool with Steps has effects of its own").WithHint("omit OnlyCalls")
	}
	steps := Module{Funcs: t.Steps}
	if err := steps.CheckKinds(); err != nil {
		return err
	}
	for _, f := range t.Steps {
		if f.Name == "" || f.Do == nil || f.Kind == Pure || f.Mode != ModePlain {
			return value.Errorf(value.Invalid, "the step %q must have a name, a Do, and the Mode tool.ModePlain, and must not be Pure", f.Name)
		}
	}
	for i, e := range t.Examples {
		if _, err := t.Check(e.Args); err != nil {
			return value.Errorf(value.Invalid, "example %d is invalid: %w", i+1, err)
		}
	}
	return nil
}

func validateParams(params []Param) error {
	seen := map[string]bool{}
	for _, p := range params {
		if p.Name == "" || strings.ContainsFunc(p.Name, func(r rune) bool { return r < 0x20 || r == 0x7f }) {
			return value.Errorf(value.Invalid, "%q is not a valid parameter name", p.Name)
		}
		for _, name := range append([]string{p.Name}, p.Aliases...) {
			if seen[name] {
				return value.Errorf(value.Invalid, "the parameter name '%s' is used twice", name)
			}
			seen[name] = true
		}
		if err := p.Type.validate("parameter '" + p.Name + "'"); err != nil {
			return err
		}
		if !p.HasDefault || p.Default == nil {
			continue
		}
		if _, problems := checkValue(&p.Type, p.Default, "the default of '", p.Name, "'"); len(problems) > 0 {
			return value.Errorf(value.Invalid, "%s", strings.Join(problems, "; "))
		}
	}
	return nil
}

// validate says what is wrong with a type's own constraints.
func (t Type) validate(what string) error {
	if t.Pattern != "" {
		if _, err := regexp.Compile(t.Pattern); err != nil {
			return value.Errorf(value.Invalid, "the pattern of %s: %w", what, err).
				WithHint("write the pattern in RE2 syntax (github.com/google/re2/wiki/Syntax), without lookaround and backreferences")
		}
	}
	for i, bound := range []value.Value{t.Min, t.Max} {
		if f, ok := bound.(float64); bound != nil && !value.Numeric(bound) || ok && math.IsNaN(f) {
			return value.Errorf(value.Invalid, "%s of %s should be a number but got %s", [...]string{"min", "max"}[i], what, value.FormatJSON(bound, ""))
		}
	}
	if t.Max != nil && beyond(t.Min, t.Max, +1) {
		return value.Errorf(value.Invalid, "min of %s is greater than its max", what).WithHint("swap min and max, or correct one of them")
	}
	if t.MinLength != nil && *t.MinLength < 0 || t.MaxLength != nil && *t.MaxLength < 0 ||
		t.MinLength != nil && t.MaxLength != nil && *t.MinLength > *t.MaxLength {
		return value.Errorf(value.Invalid, "min_length and max_length of %s should satisfy 0 <= min_length <= max_length", what).WithHint("use 0 or more for both, and a min_length of at most max_length")
	}
	bare := t
	bare.Enum = nil
	for _, e := range t.Enum {
		if _, problems := checkValue(&bare, e, fmt.Sprintf("the enum value %s of %s", value.Display(e), what)); len(problems) > 0 {
			return value.Errorf(value.Invalid, "%s", problems[0])
		}
	}
	for _, inner := range []*Type{t.Items, t.Values} {
		if inner != nil {
			if err := inner.validate("an item of " + what); err != nil {
				return err
			}
		}
	}
	return validateParams(slices.Clone(t.Fields))
}
