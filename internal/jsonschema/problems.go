package jsonschema

import (
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Problem is one reason why a value does not match a schema.
type Problem struct {
	Path    []string // to the part of the value: names of properties, and items as [0]
	Missing string   // the property that the part lacks, or ""
	Unknown string   // the property that the part must not have, or ""
	Text    string   // otherwise, what is wrong with the part, as in "should be string but got number"
}

// Problems returns why a value does not match the schema, for a reader who can correct it: the library finds
// only one reason, and words it for programmers. It has at most max reasons. It returns nil for a value that
// matches, and for keywords that it does not explain, such as unevaluatedProperties: Check decides.
func (c *Schema) Problems(v value.Value, max int) []Problem {
	e := &explainer{root: c.root, most: max, steps: maxExplained}
	e.schema(nil, c.root, v, 0)
	return e.problems
}

const (
	// maxExplained and maxFollowed bound the work for an explanation: how many schemas are compared, and how
	// many of them for one value.
	maxExplained, maxFollowed = 20_000, 64
	// maxVariants is how many alternatives an explanation lists.
	maxVariants = 5
)

// An explainer finds problems.
type explainer struct {
	root     value.Value
	most     int
	steps    int
	problems []Problem
	unsure   bool // a keyword was met that is not explained
}

func (e *explainer) add(path []string, format string, args ...any) {
	e.put(Problem{Path: path, Text: fmt.Sprintf(format, args...)})
}

func (e *explainer) put(p Problem) {
	if len(e.problems) < e.most {
		p.Path = slices.Clone(p.Path)
		e.problems = append(e.problems, p)
	}
}

// schema compares a value with a schema. followed is how many schemas were followed for this value.
func (e *explainer) schema(path []string, schema, v value.Value, followed int) {
	if e.steps--; e.steps < 0 || followed > maxFollowed {
		return
	}
	s, ok := schema.(*value.Dict)
	if !ok {
		if schema == false {
			e.add(path, "is not allowed")
		}
		return
	}
	for _, name := range []string{"unevaluatedProperties", "unevaluatedItems", "$dynamicRef", "$id", "dependentSchemas", "dependencies"} {
		e.unsure = e.unsure || s.Has(name)
	}
	if target := Referred(e.root, s.Text("$ref")); target != nil {
		e.schema(path, target, v, followed+1)
	} else if s.Has("$ref") {
		e.unsure = true
	}
	if !e.types(path, s, v) {
		return // what follows is about another type
	}
	e.values(path, s, v)
	switch part := v.(type) {
	case string:
		e.text(path, s, part)
	case *value.Dict:
		e.object(path, s, part)
	default:
		if items, ok := value.Elements(v); ok {
			e.items(path, s, items)
		}
	}
	for _, one := range s.Elements("allOf") {
		e.schema(path, one, v, followed+1)
	}
	e.variants(path, s, v, followed)
	if condition, ok := s.Get("if"); ok {
		branch := "then"
		problems, sure := e.try(condition, v, followed)
		if len(problems) > 0 {
			branch = "else"
		}
		if then, ok := s.Get(branch); ok && sure {
			e.schema(path, then, v, followed+1)
		}
	}
	if not, ok := s.Get("not"); ok {
		if problems, sure := e.try(not, v, followed); sure && len(problems) == 0 {
			e.add(path, "must not match %s", value.Cut(value.FormatJSON(not, ""), 100))
		}
	}
}

// try returns the problems of a value with another schema, and whether they are all.
func (e *explainer) try(schema, v value.Value, followed int) (problems []Problem, sure bool) {
	other := &explainer{root: e.root, most: e.most, steps: e.steps}
	other.schema(nil, schema, v, followed+1)
	e.steps, e.unsure = other.steps, e.unsure || other.unsure
	return other.problems, !other.unsure && other.steps >= 0
}

// Referred returns the part of a schema that a local reference names, such as #/$defs/a, or nil.
func Referred(root value.Value, ref string) value.Value {
	pointer, local := strings.CutPrefix(ref, "#")
	d, isDict := root.(*value.Dict)
	if !local || !isDict || pointer != "" && pointer[0] != '/' {
		return nil
	}
	return pointed(d, pointer)
}

// types compares the type of a value, and reports whether it is right.
func (e *explainer) types(path []string, s *value.Dict, v value.Value) bool {
	given, ok := s.Get("type")
	if !ok {
		return true
	}
	names, isList := value.Elements(given)
	if !isList {
		names = []value.Value{given}
	}
	got := value.TypeOf(v)
	for _, name := range names {
		switch {
		case name == value.Value(got), name == "number" && value.Numeric(v):
			return true
		case name == "integer":
			if _, whole := value.Integral(v); whole {
				return true
			}
		}
	}
	if value.Numeric(v) {
		got = "number"
	}
	e.add(path, "should be %s but got %s", strings.Join(value.Map(names, value.Display), " or "), got)
	return false
}

// values compares with enum, const and the bounds of numbers.
func (e *explainer) values(path []string, s *value.Dict, v value.Value) {
	if want, ok := s.Get("const"); ok && !value.EqualJSON(want, v) {
		e.add(path, "must be %s (got %s)", short(want), short(v))
	}
	if list := s.Elements("enum"); list != nil && !slices.ContainsFunc(list, func(one value.Value) bool { return value.EqualJSON(one, v) }) {
		e.add(path, "must be one of: %s (got %s)", value.Cut(strings.Join(value.Map(list, value.Display), ", "), 500), value.Cut(value.Display(v), 100))
	}
	if !value.Numeric(v) {
		return
	}
	if of, _ := s.Get("multipleOf"); value.Numeric(of) && !multiple(v, of) {
		e.add(path, "must be a multiple of %s (got %s)", short(of), short(v))
	}
	for _, b := range []struct {
		word, sign string
		bad        func(order int) bool
	}{
		{"minimum", ">=", func(o int) bool { return o < 0 }}, {"maximum", "<=", func(o int) bool { return o > 0 }},
		{"exclusiveMinimum", ">", func(o int) bool { return o <= 0 }}, {"exclusiveMaximum", "<", func(o int) bool { return o >= 0 }},
	} {
		bound, _ := s.Get(b.word)
		if order, ok := value.CompareNumbers(v, bound); value.Numeric(bound) && (!ok || b.bad(order)) {
			e.add(path, "must be %s %s (got %s)", b.sign, short(bound), short(v))
		}
	}
}

// multiple reports whether a number is a multiple of another one, or cannot be compared here.
func multiple(v, of value.Value) bool {
	a, ok := new(big.Rat).SetString(value.FormatJSON(v, ""))
	b, both := new(big.Rat).SetString(value.FormatJSON(of, ""))
	return !ok || !both || b.Sign() == 0 || new(big.Rat).Quo(a, b).IsInt()
}

func short(v value.Value) string { return value.Cut(value.FormatJSON(v, ""), 100) }

// text compares a string.
func (e *explainer) text(path []string, s *value.Dict, text string) {
	e.length(path, s, utf8.RuneCountInString(text), "Length", "characters")
	if pattern := s.Text("pattern"); pattern != "" {
		if re, err := regexp.Compile(pattern); err == nil && !re.MatchString(text) {
			e.add(path, "must match pattern: %s", value.Cut(pattern, 200))
		}
	}
}

// length compares a number of parts with the keywords that end with word.
func (e *explainer) length(path []string, s *value.Dict, n int, word, unit string) {
	if least := s.IntOr("min"+word, 0); int64(n) < least {
		e.add(path, "must have at least %d %s (got %d)", least, unit, n)
	}
	if most := s.IntOr("max"+word, int64(n)); int64(n) > most {
		e.add(path, "must have at most %d %s (got %d)", most, unit, n)
	}
}

// items compares a list.
func (e *explainer) items(path []string, s *value.Dict, items []value.Value) {
	e.length(path, s, len(items), "Items", "items")
	first := s.Elements("prefixItems")
	rest, hasRest := s.Get("items")
	if tuple, ok := value.Elements(rest); ok { // of draft 07
		first = tuple
		rest, hasRest = s.Get("additionalItems")
	}
	for i, item := range items {
		at := append(path, "["+strconv.Itoa(i)+"]")
		if i < len(first) {
			e.schema(at, first[i], item, 0)
		} else if hasRest {
			e.schema(at, rest, item, 0)
		}
	}
	if part, ok := s.Get("contains"); ok {
		found := int64(0)
		for _, item := range items {
			problems, sure := e.try(part, item, 0)
			if !sure {
				return
			}
			if len(problems) == 0 {
				found++
			}
		}
		if least := s.IntOr("minContains", 1); found < least {
			e.add(path, "must have at least %d items that match %s (got %d)", least, value.Cut(value.FormatJSON(part, ""), 100), found)
		}
		if most := s.IntOr("maxContains", found); found > most {
			e.add(path, "must have at most %d items that match %s (got %d)", most, value.Cut(value.FormatJSON(part, ""), 100), found)
		}
	}
	if s.Bool("uniqueItems") {
		for i := range items {
			if k := slices.IndexFunc(items[:i], func(one value.Value) bool { return value.EqualJSON(one, items[i]) }); k >= 0 && len(items) <= maxUnique {
				e.add(path, "must not have equal items ([%d] and [%d])", k, i)
				break
			}
		}
	}
}

// maxUnique is the longest list of which equal items are named: each is compared with the others.
const maxUnique = 500

// object compares an object.
func (e *explainer) object(path []string, s, d *value.Dict) {
	e.length(path, s, d.Len(), "Properties", "properties")
	for _, name := range s.Elements("required") {
		if name, ok := name.(string); ok && !d.Has(name) {
			e.put(Problem{Path: path, Missing: name})
		}
	}
	for name, needed := range s.Dict("dependentRequired").OrEmpty().All() {
		list, _ := value.Elements(needed)
		for _, other := range list {
			if given, ok := other.(string); ok && d.Has(name.(string)) && !d.Has(given) {
				e.add(path, "must have %s, because it has %s", given, name)
			}
		}
	}
	properties := s.Dict("properties")
	more, hasMore := s.Get("additionalProperties")
	names, hasNames := s.Get("propertyNames")
	for k, v := range d.All() {
		name, _ := k.(string)
		at := append(path, name)
		if hasNames {
			if problems, _ := e.try(names, name, 0); len(problems) > 0 {
				e.add(path, "has a field with an invalid name: '%s' %s", value.Clean(name, 60), problems[0].Text)
			}
		}
		property, known := properties.Get(name)
		if known {
			e.schema(at, property, v, 0)
		}
		for pattern, part := range s.Dict("patternProperties").OrEmpty().All() {
			if re, err := regexp.Compile(pattern.(string)); err == nil && re.MatchString(name) {
				known = true
				e.schema(at, part, v, 0)
			}
		}
		switch {
		case known || !hasMore:
		case more == false:
			e.put(Problem{Path: path, Unknown: name})
		default:
			e.schema(at, more, v, 0)
		}
	}
}

// variants compares with anyOf and oneOf. If the value has the type of only one of them, its problems are
// those of this one.
func (e *explainer) variants(path []string, s *value.Dict, v value.Value, followed int) {
	for _, word := range []string{"anyOf", "oneOf"} {
		list := s.Elements(word)
		if list == nil {
			continue
		}
		var tried [][]Problem
		var fits, near []int
		known := true
		for i, one := range list {
			problems, sure := e.try(one, v, followed)
			tried, known = append(tried, problems), known && sure
			if len(problems) == 0 {
				fits = append(fits, i+1)
			} else if !slices.ContainsFunc(problems, other) {
				near = append(near, i)
			}
		}
		switch {
		case !known:
		case len(fits) > 1 && word == "oneOf":
			e.add(path, "must match exactly one of %d alternatives, but matches number %d and number %d", len(list), fits[0], fits[1])
		case len(fits) > 0:
		case len(near) == 1:
			for _, p := range tried[near[0]] {
				p.Path = append(slices.Clone(path), p.Path...)
				e.put(p)
			}
		default:
			if types, got := onlyTypes(tried); types != "" {
				e.add(path, "should be %s but got %s", types, got)
				continue
			}
			var texts []string
			for _, problems := range tried[:min(len(tried), maxVariants)] {
				texts = append(texts, problems[0].String())
			}
			e.add(path, "matches none of %d alternatives: %s", len(list), strings.Join(texts, "; or "))
		}
	}
}

// onlyTypes returns the types of alternatives that differ from a value by nothing else, and its own.
func onlyTypes(tried [][]Problem) (types, got string) {
	var names []string
	for _, problems := range tried {
		wanted, rest, found := strings.Cut(strings.TrimPrefix(problems[0].Text, "should be "), " but got ")
		if len(problems) > 1 || len(problems[0].Path) > 0 || !found || !strings.HasPrefix(problems[0].Text, "should be ") {
			return "", ""
		}
		names, got = append(names, wanted), rest
	}
	return strings.Join(names, " or "), got
}

// other reports whether a problem shows that another alternative is meant: the value has another type, or
// another constant.
func other(p Problem) bool {
	return len(p.Path) == 0 && p.Missing == "" && p.Unknown == "" && strings.HasPrefix(p.Text, "should be ") || strings.HasPrefix(p.Text, "must be ") && len(p.Path) <= 1
}

// String returns the problem with its path, as in "a[0].b should be string but got number".
func (p Problem) String() string {
	at := Path(p.Path)
	switch {
	case p.Missing != "":
		return strings.TrimSpace(at + " lacks the required field '" + p.Missing + "'")
	case p.Unknown != "":
		return strings.TrimSpace(at + " has the unknown field '" + p.Unknown + "'")
	}
	return strings.TrimSpace(at + " " + p.Text)
}

// Path returns a path as one text, as in a[0].b.
func Path(steps []string) string {
	return strings.TrimPrefix(strings.ReplaceAll("."+strings.Join(steps, "."), ".[", "["), ".")
}
