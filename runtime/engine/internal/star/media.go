package star

import (
	"fmt"
	"hash/maphash"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// A media is a [value.Media] in Starlark: m.type, m.size, m.data, m == n, and a key of a dict.
type media struct{ value.Media }

// mediaFields are the names of the attributes of a media.
var mediaFields = []string{"data", "size", "type"}

// mediaSeed is the seed of the hashes of media in this process.
var mediaSeed = maphash.MakeSeed()

func (m *media) Type() string         { return value.TypeOf(m.Media) }
func (m *media) Freeze()              {} // media are immutable
func (m *media) Truth() starlark.Bool { return true }
func (m *media) AttrNames() []string  { return mediaFields }

// Hash implements starlark.Value. The hash decides nothing that a script can see.
func (m *media) Hash() (uint32, error) { return uint32(maphash.Bytes(mediaSeed, m.Data)), nil }

func (m *media) Attr(name string) (starlark.Value, error) {
	switch name {
	case "type":
		return starlark.String(m.Media.Type), nil
	case "size":
		return starlark.MakeInt(len(m.Data)), nil
	case "data":
		return starlark.Bytes(m.Data), nil
	}
	return nil, nil
}

// CompareSameType implements starlark.Comparable.
func (m *media) CompareSameType(op syntax.Token, y starlark.Value, _ int) (bool, error) {
	same := value.Equal(m.Media, y.(*media).Media)
	switch op {
	case syntax.EQL:
		return same, nil
	case syntax.NEQ:
		return !same, nil
	}
	return false, fmt.Errorf("%s %s %s is not implemented", m.Type(), op, y.Type())
}
