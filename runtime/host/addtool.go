package host

import (
	"context"
	"reflect"

	"github.com/cassidy-run/cassidy/internal/goschema"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// AddTool adds a tool written in Go that takes and returns Go values. It is like
// [Host.Register], and fails with kind Invalid for what that refuses and for the types
// below.
//
// In is a struct or a pointer to one. Each call decodes its arguments as an In, see
// [value.ToGo]; a pointer is never nil. Unless t has Params or a Schema, its parameters
// are derived from In; given ones must fit it. A field is a parameter with the name of its
// json tag. It is required unless the tag has omitempty or omitzero or the field is a
// pointer, and its description is in the tag jsonschema:
//
//	Path string `json:"path" jsonschema:"the file to read"`
//
// A struct that contains itself is described as any object, and a type with a JSON decoder
// of its own as any value. A *[value.Dict] gets the arguments that t declares, without
// decoding. An In without fields takes no arguments.
//
// The result of f is encoded with [value.FromGo]; an empty struct means no result. Unless t
// has Returns, the type of the result is derived from Out.
//
// A tool that has no Needs and is not Risky runs without approval. An error of f that is
// neither a *[value.Error] nor wraps one is of kind Failed. A panic, and a result that cannot
// be encoded, is an error of kind Internal. f is called concurrently. It must return when its
// context ends: the host waits for it without a time limit.
//
// To undo calls, pass [UndoFunc]. [Host.RemoveTool] removes the tool.
func AddTool[In, Out any](h *Host, t tool.Tool, f func(ctx context.Context, in In) (Out, error), opts ...ToolOption) error {
	switch {
	case h == nil:
		return value.Errorf(value.Invalid, "tool '%s': the host is nil", t.Name)
	case f == nil:
		return value.Errorf(value.Invalid, "tool '%s': the function is nil", t.Name)
	}
	if err := derive[In, Out](&t); err != nil {
		e := value.Errorf(value.Invalid, "tool '%s': %w", t.Name, err)
		e.Hint = value.ErrorOf(err, value.Invalid).Hint
		return e
	}
	nothing := reflect.TypeFor[Out]() == reflect.TypeFor[struct{}]()
	do := func(ctx context.Context, args *value.Dict) (value.Value, error) {
		in, err := decodeArgs[In](args)
		if err != nil {
			return nil, value.Errorf(value.Invalid, "decode the arguments of '%s': %w", t.Name, err)
		}
		out, err := f(ctx, in)
		if nothing {
			return nil, err
		}
		return out, err
	}
	typed := func(o *toolOptions) { o.types = goschema.SignatureOf[In, Out]() }
	return h.register(t, do, false, append([]ToolOption{typed}, opts...))
}

// derive completes a definition from the types of its handler, and checks the parts that are
// given.
func derive[In, Out any](t *tool.Tool) error {
	var err error
	switch {
	case t.Params != nil || len(t.Schema) > 0:
		err = goschema.Check[In](t)
	case goschema.IsDict[In](): // declares none, takes none
	default:
		t.Params, err = goschema.Params[In]()
	}
	if err != nil || t.Returns != nil {
		return err
	}
	t.Returns, err = goschema.Returns[Out]()
	return err
}

// decodeArgs decodes the arguments of a call; a pointer to a struct is never nil.
func decodeArgs[In any](args *value.Dict) (In, error) {
	if args == nil {
		args = &value.Dict{}
	}
	return value.ToGo[In](args)
}
