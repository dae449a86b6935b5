package tool

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Check says whether arguments fit a tool. It returns them complete: aliases
// resolved, null for an optional parameter dropped, absent ones filled from
// their defaults, and values in their one form (3.0 for an integer is 3, a lone
// string for a character is a list). Everything that is wrong is told in one
// error of kind Invalid.
func (t *Tool) Check(args *Dict) (*Dict, error) {
	if len(t.Schema) > 0 {
		return args, t.checkRaw(args)
	}
	checked, problems, missing := checkParams(t.Params, args, "Parameter ", t.AllowExtra)
	if len(problems) == 0 {
		return checked, nil
	}
	err := Errorf(Invalid, "%s", t.problemText(problems))
	if missing {
		return nil, err.WithHint("Example: %s", t.ExampleCall())
	}
	return nil, err
}

// CheckResult says whether a result fits what the tool says it returns.
func (t *Tool) CheckResult(v Value) (Value, error) {
	if t.Returns == nil {
		return v, nil
	}
	checked, problems := checkValue(*t.Returns, v, "Result", nil)
	if len(problems) == 0 {
		return checked, nil
	}
	return nil, Errorf(Failed, "the result of '%s' is not what it declares:\n  - %s", t.Name, strings.Join(problems, "\n  - ")).
		WithHint("this is a fault of the tool, not of the call: mend its return type or its handler")
}

func (t *Tool) problemText(problems []string) string {
	return "Tool input validation failed for '" + t.Name + "':\n  - " + strings.Join(problems, "\n  - ")
}

// ExampleCall writes a call of the tool with its required parameters, as in
// slug(input="Hello World"); the values are those of its first example, or
// stand-ins of the right type.
func (t *Tool) ExampleCall() string {
	var parts []string
	var example *Dict
	if len(t.Examples) > 0 {
		example = t.Examples[0].Args
	}
	for _, p := range t.Params {
		v, ok := example.Get(p.Name)
		if p.FromHost || (!ok && !p.Required) {
			continue
		}
		if !ok {
			v = standIn(p.Type)
		}
		parts = append(parts, p.Name+"="+FormatJSON(v, ""))
	}
	return t.Name + "(" + strings.Join(parts, ", ") + ")"
}

// standIn returns a value of a type, to show in an example.
func standIn(t Type) Value {
	if len(t.Enum) > 0 {
		return t.Enum[0]
	}
	switch t.Name {
	case TypeString, TypeAny, "":
		return "…"
	case TypeNumber, TypeInteger:
		if t.Min != nil {
			return t.Min
		}
		return int64(1)
	case TypeBoolean, TypeLogical:
		return true
	case TypeCharacter:
		return List{"…"}
	case TypeArray, TypeList:
		return List{}
	}
	return NewDict()
}

// checkParams checks named values against parameters: the arguments of a call,
// or the fields of an object inside one.
func checkParams(params []Param, args *Dict, label string, allowExtra bool) (checked *Dict, problems []string, missing bool) {
	checked = &Dict{entries: make([]Entry, 0, len(params))}
	for k := range args.All() {
		name, ok := k.(string)
		p, known := findParam(params, name)
		switch {
		case !ok:
			problems = append(problems, fmt.Sprintf("Parameter names must be strings, got %s", TypeOf(k)))
		case known && !p.FromHost && name != p.Name && args.Has(p.Name):
			problems = append(problems, fmt.Sprintf("Parameter '%s' is given twice: '%s' is another name for it", p.Name, name))
		case known && !p.FromHost, allowExtra && !known:
		default:
			problems = append(problems, unknownParam(name, params))
		}
	}
	for i := range params {
		p := &params[i]
		if p.FromHost {
			continue
		}
		v, given := argument(args, p)
		switch {
		case given && (v != nil || (p.Type.Nullable && p.Required)):
			v, problems = checkValue(p.Type, v, label+"'"+p.Name+"'", problems)
			checked.Put(p.Name, v)
		case p.Required:
			missing = true
			problems = append(problems, "Missing required parameter: "+p.Name)
		case p.HasDefault:
			checked.Put(p.Name, p.Default)
		}
	}
	return checked, problems, missing
}

func argument(args *Dict, p *Param) (Value, bool) {
	if v, ok := args.Get(p.Name); ok {
		return v, true
	}
	for _, a := range p.Aliases {
		if v, ok := args.Get(a); ok {
			return v, true
		}
	}
	return nil, false
}

func unknownParam(name string, params []Param) string {
	valid := paramNames(params)
	if len(valid) == 0 {
		return fmt.Sprintf("Unknown parameter: %s (there are no parameters)", name)
	}
	return fmt.Sprintf("Unknown parameter: %s%s (valid: %s)", name, didYouMean(name, valid), strings.Join(valid, ", "))
}

// checkValue checks one value against a type and returns it in its one form;
// what is wrong is appended to problems, each beginning with the label.
func checkValue(t Type, v Value, label string, problems []string) (Value, []string) {
	if v == nil && (t.Nullable || t.Name == TypeAny || t.Name == "") {
		return nil, problems
	}
	wrong := func(format string, args ...any) (Value, []string) {
		return v, append(problems, label+" "+fmt.Sprintf(format, args...))
	}
	fits := true
	switch t.Name {
	case TypeString:
		_, fits = v.(string)
	case TypeBoolean, TypeLogical:
		_, fits = v.(bool)
	case TypeNumber:
		_, fits = numeric(v)
	case TypeInteger:
		v, fits = integral(v)
	case TypeCharacter:
		return checkCharacter(t, v, label, problems)
	case TypeArray:
		if items, ok := Elements(v); ok {
			return checkArray(t, v, items, label, problems)
		}
		fits = false
	case TypeObject:
		if d, ok := v.(*Dict); ok {
			return checkObject(t, d, label, problems)
		}
		fits = false
	case TypeList:
		_, isArray := Elements(v)
		_, isObject := v.(*Dict)
		fits = isArray || isObject
	}
	if !fits {
		return wrong("should be %s but got %s", t, TypeOf(v))
	}
	if text := t.violation(v); text != "" {
		return wrong("%s", text)
	}
	return v, problems
}

func numeric(v Value) (Value, bool) {
	switch v.(type) {
	case int64, *big.Int, float64:
		return v, true
	}
	return v, false
}

// integral accepts integers, and floats without a fraction as the integer.
func integral(v Value) (Value, bool) {
	switch n := v.(type) {
	case int64, *big.Int:
		return v, true
	case float64:
		if i, ok := wholeNumber(n); ok {
			return i, true
		}
	}
	return v, false
}

func checkCharacter(t Type, v Value, label string, problems []string) (Value, []string) {
	if s, ok := v.(string); ok {
		v = List{s}
	}
	items, ok := Elements(v)
	if !ok {
		return v, append(problems, fmt.Sprintf("%s should be character (a list of strings) but got %s", label, TypeOf(v)))
	}
	t.Items = &Type{Name: TypeString}
	return checkArray(t, v, items, label, problems)
}

func checkArray(t Type, v Value, items []Value, label string, problems []string) (Value, []string) {
	if text := t.lengthViolation(len(items), "items"); text != "" {
		problems = append(problems, label+" "+text)
	}
	if t.Items == nil {
		return v, problems
	}
	checked := make([]Value, len(items))
	for i, item := range items {
		checked[i], problems = checkValue(*t.Items, item, label+"["+strconv.Itoa(i)+"]", problems)
	}
	switch v.(type) {
	case Tuple:
		return Tuple(checked), problems
	case Set:
		return Set(checked), problems
	}
	return List(checked), problems
}

// checkObject checks the known fields of an object and lets others be, as JSON
// Schema does; with Values it checks those too.
func checkObject(t Type, d *Dict, label string, problems []string) (Value, []string) {
	if len(t.Fields) == 0 && t.Values == nil {
		return d, problems
	}
	checked := &Dict{}
	for k, v := range d.All() {
		name, ok := k.(string)
		field, known := findParam(t.Fields, name)
		switch {
		case !ok:
			problems = append(problems, fmt.Sprintf("%s has a key that is not a string but %s", label, TypeOf(k)))
			continue
		case known && (v != nil || field.Required):
			v, problems = checkValue(field.Type, v, label+"."+name, problems)
		case !known && t.Values != nil:
			v, problems = checkValue(*t.Values, v, label+"."+name, problems)
		}
		checked.Put(name, v)
	}
	for _, f := range t.Fields {
		if f.Required && !d.Has(f.Name) {
			problems = append(problems, fmt.Sprintf("%s lacks the required field '%s'", label, f.Name))
		}
	}
	return checked, problems
}

// violation says which constraint a value of the right type breaks, or "".
func (t Type) violation(v Value) string {
	if s, ok := v.(string); ok {
		if t.MinLength != nil || t.MaxLength != nil {
			if text := t.lengthViolation(utf8.RuneCountInString(s), "characters"); text != "" {
				return text
			}
		}
		if t.Pattern != "" {
			if re, err := regexp.Compile(t.Pattern); err == nil && !re.MatchString(s) {
				return "must match pattern: " + t.Pattern
			}
		}
	}
	if t.Min != nil && compareNumbers(v, t.Min) < 0 {
		return fmt.Sprintf("must be >= %s (got %s)", FormatJSON(t.Min, ""), FormatJSON(v, ""))
	}
	if t.Max != nil && compareNumbers(v, t.Max) > 0 {
		return fmt.Sprintf("must be <= %s (got %s)", FormatJSON(t.Max, ""), FormatJSON(v, ""))
	}
	if len(t.Enum) > 0 && !t.inEnum(v) {
		names := make([]string, len(t.Enum))
		for i, e := range t.Enum {
			names[i] = displayValue(e)
		}
		return "must be one of: " + strings.Join(names, ", ") + " (got " + displayValue(v) + ")"
	}
	return ""
}

func (t Type) lengthViolation(n int, unit string) string {
	if t.MinLength != nil && n < *t.MinLength {
		return fmt.Sprintf("must have at least %d %s (got %d)", *t.MinLength, unit, n)
	}
	if t.MaxLength != nil && n > *t.MaxLength {
		return fmt.Sprintf("must have at most %d %s (got %d)", *t.MaxLength, unit, n)
	}
	return ""
}

func (t Type) inEnum(v Value) bool {
	for _, e := range t.Enum {
		if Equal(e, v) {
			return true
		}
		_, x := numeric(e)
		_, y := numeric(v)
		if x && y && compareNumbers(e, v) == 0 {
			return true
		}
	}
	return false
}

// displayValue writes a value as a person would in a list: a string without
// quotes.
func displayValue(v Value) string {
	if s, ok := v.(string); ok {
		return s
	}
	return FormatJSON(v, "")
}

// compareNumbers compares two numbers exactly; what is no number, and NaN,
// compares as equal, so that no constraint speaks of it.
func compareNumbers(a, b Value) int {
	x, okX := a.(int64)
	y, okY := b.(int64)
	if okX && okY {
		return cmp.Compare(x, y)
	}
	f, okF := bigFloat(a)
	g, okG := bigFloat(b)
	if !okF || !okG {
		return 0
	}
	return f.Cmp(g)
}

func bigFloat(v Value) (*big.Float, bool) {
	switch n := v.(type) {
	case int64:
		return new(big.Float).SetInt64(n), true
	case *big.Int:
		return new(big.Float).SetInt(n), true
	case float64:
		if math.IsNaN(n) {
			return nil, false
		}
		return new(big.Float).SetFloat64(n), true
	}
	return nil, false
}
