package tool

import (
	"fmt"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// A checker collects what is wrong with values.
type checker struct {
	problems []string
	more     int  // problems beyond maxProblems
	bigInts  bool // integers beyond int64 pass
}

// maxProblems is how many problems are reported in one error: a list of a hundred
// thousand wrong items would otherwise fill the context of a model.
const maxProblems = 50

func (c *checker) ok() bool { return len(c.problems) == 0 }

func (c *checker) add(problem string) {
	if len(c.problems) == maxProblems {
		c.more++
		return
	}
	c.problems = append(c.problems, problem)
}

// wrong adds a problem of what is being looked at, whose name [checker.in] adds.
func (c *checker) wrong(format string, args ...any) {
	c.add(" " + fmt.Sprintf(format, args...))
}

// in names what the problems from the n-th on are in. It is called for each part on
// the way out, so that a value without problems costs nothing.
func (c *checker) in(n int, name ...string) {
	for i := n; i < len(c.problems); i++ {
		c.problems[i] = strings.Join(name, "") + c.problems[i]
	}
}

// checkValue checks one value against a type and returns it in its one form;
// each problem begins with the label, which is put together where there is one.
func checkValue(t *Type, v value.Value, label ...string) (value.Value, []string) {
	c := checker{}
	v = c.value(t, v)
	c.in(0, label...)
	return v, c.problems
}

// Problems returns why a value does not have the type, in up to 50 texts. Each begins with the part
// of the value, as in items[0].name, or with "it" for the value itself.
func (t *Type) Problems(v value.Value) []string {
	_, problems := checkValue(t, v, "it")
	return value.Map(problems, func(text string) string { return strings.TrimPrefix(text, "it.") })
}

// value checks one value against a type and returns it in its one form. 3.0 is an integer, because JSON has
// one kind of number and nothing is lost. 1 is no boolean, because that would be a guess.
func (c *checker) value(t *Type, v value.Value) value.Value {
	if v == nil && t.Nullable {
		return nil
	}
	fits := true
	switch t.Name {
	case TypeString:
		_, fits = v.(string)
	case TypeBoolean, TypeLogical:
		_, fits = v.(bool)
	case TypeNumber:
		fits = value.Numeric(v)
	case TypeInteger:
		if v, fits = value.Integral(v); fits && !c.inRange(t, v) {
			return v
		}
	case TypeCharacter:
		return c.character(t, v)
	case TypeArray:
		_, fits = value.Elements(v)
	case TypeObject:
		_, fits = v.(*value.Dict)
	case TypeMedia:
		return c.media(t, v)
	case TypeList:
		_, isArray := value.Elements(v)
		_, isObject := v.(*value.Dict)
		fits = isArray || isObject
	}
	if !fits {
		c.wrong("should be %s but got %s", t, gotType(v))
		return v
	}
	switch t.Name {
	case TypeArray:
		v = c.items(t.Items, v)
	case TypeObject:
		v = c.object(t, v.(*value.Dict))
	}
	if text := t.violation(v); text != "" {
		c.wrong("%s", text)
	}
	return v
}

// media checks an image or a document, for which a data URL may stand.
func (c *checker) media(t *Type, v value.Value) value.Value {
	switch v.(type) {
	case value.Media, string:
	default:
		c.wrong("should be %s but got %s (give an image or a PDF as a data URL: data:image/png;base64,…)", t, gotType(v))
		return v
	}
	m, err := value.ToGo[value.Media](v)
	if err != nil {
		c.wrong("should be %s: %s", t, value.ErrorOf(err, value.Invalid).Message())
		return v
	}
	return m
}

// inRange refuses integers beyond int64, which few handlers expect, unless the type
// has a bound there.
func (c *checker) inRange(t *Type, v value.Value) bool {
	i, isBig := v.(*big.Int)
	if !isBig || c.bigInts {
		return true
	}
	bound := t.Max
	if i.Sign() < 0 {
		bound = t.Min
	}
	if _, beyondInt64 := bound.(*big.Int); beyondInt64 {
		return true // the bound itself is checked later
	}
	switch {
	case i.Sign() < 0:
		c.wrong("must be >= %d (got %s)", math.MinInt64, value.FormatJSON(v, ""))
	default:
		c.wrong("must be <= %d (got %s)", math.MaxInt64, value.FormatJSON(v, ""))
	}
	return false
}

// character checks a list of strings, for which a lone string may stand.
// Pattern and enum speak of each string.
func (c *checker) character(t *Type, v value.Value) value.Value {
	item := Type{Name: TypeString, Pattern: t.Pattern, Enum: t.Enum}
	list := Type{Name: TypeArray, MinLength: t.MinLength, MaxLength: t.MaxLength}
	if s, ok := v.(string); ok {
		v = value.List{c.value(&item, s)}
	} else if _, ok := value.Elements(v); ok {
		v = c.items(&item, v)
	} else {
		c.wrong("should be %s but got %s (give a list of strings)", t, gotType(v))
		return v
	}
	if text := list.violation(v); text != "" {
		c.wrong("%s", text)
	}
	return v
}

// items checks the items of a list, tuple or set against a type; nil is any.
func (c *checker) items(t *Type, v value.Value) value.Value {
	if t == nil {
		return v
	}
	items, _ := value.Elements(v)
	checked := make([]value.Value, len(items))
	for i, item := range items {
		before := len(c.problems)
		checked[i] = c.value(t, item)
		if len(c.problems) > before {
			c.in(before, "[", strconv.Itoa(i), "]")
		}
	}
	switch v.(type) {
	case value.Tuple:
		return value.Tuple(checked)
	case value.Set:
		return value.Set(checked)
	}
	return value.List(checked)
}

// object checks the known fields of an object and lets others be, as JSON
// Schema does; with Values it checks those too. Null for an optional field is
// absence, as it is for a parameter.
func (c *checker) object(t *Type, d *value.Dict) value.Value {
	if len(t.Fields) == 0 && t.Values == nil {
		return d
	}
	checked := value.MakeDict(d.Len())
	for k, v := range d.All() {
		name, ok := k.(string)
		if !ok {
			c.wrong("has a key of type %s, not a string", gotType(k))
			continue
		}
		field, known := findParam(t.Fields, name)
		if known && v == nil && !field.Required {
			continue
		}
		before := len(c.problems)
		switch {
		case known && name != givenAs(d, field):
			c.wrong("is a duplicate: '%s' is the same field", field.Name)
		case known:
			v = c.value(&field.Type, v)
		case t.Values != nil:
			v = c.value(t.Values, v)
		}
		c.in(before, ".", name)
		if known && name != field.Name {
			k = field.Name
		}
		_ = checked.Set(k, v) // which was a key before
	}
	for i := range t.Fields {
		if f := &t.Fields[i]; f.Required && !f.FromHost && !checked.Has(f.Name) {
			c.wrong("lacks the required field '%s'", f.Name)
		}
	}
	return checked
}

// violation returns which constraint a value of the right type violates, or "".
// A constraint on values of another type, such as min on a string, is ignored.
func (t *Type) violation(v value.Value) string {
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
	if items, ok := value.Elements(v); ok && t.Name == TypeArray {
		if text := t.lengthViolation(len(items), "items"); text != "" {
			return text
		}
	}
	if beyond(v, t.Min, -1) {
		return fmt.Sprintf("must be >= %s (got %s)", value.FormatJSON(t.Min, ""), value.Display(v))
	}
	if beyond(v, t.Max, +1) {
		return fmt.Sprintf("must be <= %s (got %s)", value.FormatJSON(t.Max, ""), value.Display(v))
	}
	if len(t.Enum) > 0 && !slices.ContainsFunc(t.Enum, func(e value.Value) bool { return value.EqualJSON(e, v) }) {
		return "must be one of: " + strings.Join(value.Map(t.Enum, value.Display), ", ") + " (got " + value.Display(v) + ")"
	}
	return ""
}

func (t *Type) lengthViolation(n int, unit string) string {
	if t.MinLength != nil && n < *t.MinLength {
		return fmt.Sprintf("must have at least %d %s (got %d)", *t.MinLength, unit, n)
	}
	if t.MaxLength != nil && n > *t.MaxLength {
		return fmt.Sprintf("must have at most %d %s (got %d)", *t.MaxLength, unit, n)
	}
	return ""
}

// beyond reports whether a number is less than a bound, for side -1, or greater,
// for side +1. NaN is beyond every bound; what is no number is beyond none.
func beyond(v, bound value.Value, side int) bool {
	if !value.Numeric(v) || !value.Numeric(bound) {
		return false
	}
	order, ok := value.CompareNumbers(v, bound)
	return !ok || order == side
}

// gotType names the type of a value that does not fit, in the words of JSON,
// which has one for all numbers.
func gotType(v value.Value) string {
	switch v.(type) {
	case int64, *big.Int:
		return TypeNumber
	case nil, bool, float64, string, []byte, value.Media, value.List, value.Tuple, value.Set, *value.Dict, Function, Object:
		return value.TypeOf(v)
	}
	return fmt.Sprintf("the unsupported Go type %T (convert the value with cassidy.Encode)", v)
}
