package tool

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// ParseType reads a type as it is written in a declaration: one of the
// [TypeNames], "array<string>", or the annotation's own form, as in
// "list[str]" or "str | None". An unknown name is kept: see [Type.Known].
func ParseType(text string) (Type, error) {
	return parseTypeWith(text, func(name string) (Type, bool) {
		if name == TypeList {
			return Type{Name: TypeList}, true
		}
		if t, ok := annotationType(name); ok {
			return t, true
		}
		return Type{Name: name}, true
	})
}

// ParseAnnotation reads a type as it is written in a signature, in the words
// of Python: str, int, float, bool, list[T], dict[str, T], media, any, and T | None.
// An unknown name is an error of kind Invalid.
func ParseAnnotation(text string) (Type, error) {
	return parseTypeWith(text, annotationType)
}

// An annotation is the name of a type in a signature, and the type.
type annotation struct{ name, is string }

var annotationTypes = []annotation{
	{"str", TypeString}, {"int", TypeInteger}, {"float", TypeNumber}, {"bool", TypeBoolean},
	{"list", TypeArray}, {"tuple", TypeArray}, {"set", TypeArray}, {"dict", TypeObject},
	{"any", TypeAny}, {"Any", TypeAny}, {"media", TypeMedia},
	{TypeString, TypeString}, {TypeInteger, TypeInteger}, {TypeNumber, TypeNumber},
	{TypeBoolean, TypeBoolean}, {TypeLogical, TypeLogical}, {TypeCharacter, TypeCharacter},
	{TypeArray, TypeArray}, {TypeObject, TypeObject},
}

func annotationType(name string) (Type, bool) {
	for _, a := range annotationTypes {
		if a.name == name {
			return Type{Name: a.is}, true
		}
	}
	return Type{}, false
}

// documented returns the name of a type in the words of Python, which is the first with its meaning.
func documented(name string) string {
	t, _ := annotationType(name)
	if name != t.Name { // it is not the name in JSON Schema
		return name
	}
	i := slices.IndexFunc(annotationTypes, func(a annotation) bool { return a.is == t.Name })
	return annotationTypes[i].name
}

func parseTypeWith(text string, named func(string) (Type, bool)) (Type, error) {
	p := typeParser{rest: text, named: named}
	t, err := p.union(0)
	if err == nil && p.peek() != "" {
		err = value.Errorf(value.Invalid, "unexpected %q", p.peek())
	}
	if err != nil {
		cause := value.ErrorOf(err, value.Invalid).Err
		if text = strings.TrimSpace(text); !strings.Contains(cause.Error(), strconv.Quote(text)) {
			cause = fmt.Errorf("type %q: %w", text, cause)
		}
		return Type{}, value.Errorf(value.Invalid, "%w", cause).
			WithHint("use str, int, float, bool, list[T], dict[str, T], media, any or T | None")
	}
	return t, nil
}

type typeParser struct {
	rest  string
	named func(string) (Type, bool)
}

// peek returns the next token without stepping over it: a name or one
// character; "" at the end.
func (p *typeParser) peek() string {
	p.rest = strings.TrimLeft(p.rest, " \t\r\n")
	for i := 0; i < len(p.rest); i++ {
		c := p.rest[i]
		if c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' {
			continue
		}
		if i == 0 {
			_, i = utf8.DecodeRuneInString(p.rest)
		}
		return p.rest[:i]
	}
	return p.rest
}

func (p *typeParser) take() string {
	token := p.peek()
	p.rest = p.rest[len(token):]
	return token
}

func (p *typeParser) union(depth int) (Type, error) {
	if depth > 16 {
		return Type{}, value.Errorf(value.Invalid, "the type is nested more than 16 levels deep")
	}
	var terms []Type
	nullable := false
	for {
		if p.peek() == "None" || p.peek() == "null" {
			p.take()
			nullable = true
		} else {
			t, err := p.term(depth)
			if err != nil {
				return Type{}, err
			}
			terms = append(terms, t)
		}
		if p.peek() != "|" {
			break
		}
		p.take()
	}
	switch len(terms) {
	case 0:
		return Type{}, value.Errorf(value.Invalid, "None alone is not a type")
	case 1:
		terms[0].Nullable = terms[0].Nullable || nullable
		return terms[0], nil
	}
	return Type{}, value.Errorf(value.Invalid, "the only supported union is T | None; write any instead")
}

func (p *typeParser) term(depth int) (Type, error) {
	name := p.take()
	if name == "" {
		return Type{}, value.Errorf(value.Invalid, "expected a type, as in list[str]")
	}
	t, ok := p.named(name)
	if !ok {
		known := value.Map(annotationTypes, func(a annotation) string { return a.name })
		suggestion := value.DidYouMean(name, known)
		if similar := value.Similar(name, known); len(similar) == 1 {
			suggestion = fmt.Sprintf("; did you mean %q?", documented(similar[0]))
		}
		return Type{}, value.Errorf(value.Invalid, "unknown type %q%s", name, suggestion)
	}
	closing := map[string]string{"[": "]", "<": ">"}[p.peek()]
	if closing == "" {
		return t, nil
	}
	p.take()
	args, err := p.arguments(closing, depth)
	if err != nil {
		return Type{}, err
	}
	return t.of(name, args)
}

func (p *typeParser) arguments(closing string, depth int) ([]Type, error) {
	var args []Type
	for {
		t, err := p.union(depth + 1)
		if err != nil {
			return nil, err
		}
		args = append(args, t)
		switch next := p.take(); next {
		case ",":
		case closing:
			return args, nil
		case "":
			return nil, value.Errorf(value.Invalid, "expected a comma or %s but got the end of the type", closing)
		default:
			return nil, value.Errorf(value.Invalid, "expected a comma or %s but got %q", closing, next)
		}
	}
}

// of gives a container type its arguments.
func (t Type) of(name string, args []Type) (Type, error) {
	switch {
	case (t.Name == TypeArray || t.Name == TypeList) && len(args) == 1:
		t.Name, t.Items = TypeArray, &args[0]
	case t.Name == TypeObject && len(args) == 2 && args[0].Name == TypeString:
		t.Values = &args[1]
	case t.Name == TypeObject && len(args) == 2:
		return Type{}, value.Errorf(value.Invalid, "the keys of a dict must be str, as in dict[str, int]")
	default:
		return Type{}, value.Errorf(value.Invalid, "unexpected number of types in the brackets of %s: %d", name, len(args))
	}
	return t, nil
}
