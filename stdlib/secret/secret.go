// Package secret is what scripts can do with the secrets and environment variables
// that the program provides: the modules secret and env.
//
// A script holds a placeholder in place of a secret. The functions of package web put
// the value there as they send a request, and replace it by the placeholder in all that
// comes back.
package secret

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

// A Box looks up secrets, and hides those that it has looked up. It is safe for
// concurrent use; make one with [NewBox].
type Box struct {
	lookup row.Lookup

	mu     sync.RWMutex
	opened [][2]string // the value of every secret that was opened, and its placeholder
	hidden *matchers   // of them, or nil
}

// MinLength is how long a value must be, in bytes. A shorter one occurs by chance. It
// could also be guessed: a script that lets a server send all values of few characters
// sees which of them is hidden.
//
// A matcher compares so many bytes at a time.
const MinLength = 8

// NewBox returns a box whose values come from a function: it returns the value of a
// secret, or an error of kind NotFound where that is not set, is called concurrently,
// with the context of the effect, and an effect does not wait for it longer than that.
// A value is looked up each time that it is used. With nil no secret has a value.
func NewBox(lookup func(ctx context.Context, name string) (string, error)) *Box {
	return &Box{lookup: row.Lookup(lookup).WithoutPanics("Options.Secrets")}
}

// Module returns the function secret, which gives a script a placeholder.
func (b *Box) Module() tool.Module {
	return tool.Module{Doc: "A function for secrets.", Funcs: []tool.Func{{
		Name: "secret",
		Doc: "Return a placeholder for a secret, such as a token. A secret belongs to one tool and one host, such as api.example.com. The user sets the value of the secret. " +
			`Use the placeholder in headers, params or auth of an http function, as in {"Authorization": "Bearer " + secret("TOKEN")}. ` +
			"The value is sent only to the host of the secret, over https. In the response, the value is hidden. The tool declares secret:NAME@HOST in needs. The call fails if the user has not set a value.",
		Params:  []tool.Param{tool.Required("name", tool.TypeString, "the secret's name, as in needs and in the user's config")},
		Returns: `the placeholder, text such as "{{secret:TOKEN}}"`,
		Kind:    tool.Read,
		Target: func(args *value.Dict) ([]tool.Capability, error) {
			err := CheckName(args.Text("name"))
			return []tool.Capability{{Name: "secret", Target: args.Text("name") + "@"}}, err
		},
		Do: func(ctx context.Context, e tool.Effect, _ tool.Grant) (tool.Outcome, error) {
			name := e.Args.Text("name")
			err := CheckName(name)
			if err == nil {
				_, err = b.Open(ctx, name)
			}
			if stopped := row.Stopped(ctx); stopped != nil {
				err = stopped
			}
			return tool.Outcome{Value: Placeholder(name)}, err
		},
	}}}
}

// Open returns the value of a secret, which is hidden from then on. Its error is that
// of ctx where that ended, and of kind Unavailable where the secret has no value.
func (b *Box) Open(ctx context.Context, name string) (string, error) {
	val, set, err := b.lookup.Get(ctx, "Options.Secrets", name)
	val = strings.TrimRight(val, "\r\n") // as the files end in which people keep them
	switch {
	case err != nil && ctx.Err() != nil:
		return "", err
	case err != nil:
		if len(val) >= MinLength {
			b.Hide(name, val)
		}
		e := *value.ErrorOf(err, value.Failed)
		e.Err = fmt.Errorf("get the secret %s: %s", name, e.Message())
		return "", b.ScrubError(&e)
	case !set || val == "":
		return "", value.Errorf(value.Unavailable, "the secret %s has no value", name).WithLimit(value.OfSecret(name)).
			WithHint("cassidy secret set %[1]s; if an environment variable has it: cassidy secret set %[1]s --env %[1]s", name)
	case len(val) < MinLength:
		return "", value.Errorf(value.Failed, "the secret %s is too short to be redacted: the minimum is %d bytes", name, MinLength).
			WithHint("use a longer secret: a short value can also occur in other text, where it would be redacted too")
	}
	b.Hide(name, val)
	return val, nil
}

// Hide makes Scrub replace a value by the placeholder of the secret name. The value has
// at least MinLength bytes.
func (b *Box) Hide(name, value string) {
	opened := [2]string{value, Placeholder(name)}
	b.mu.Lock()
	defer b.mu.Unlock()
	if slices.Contains(b.opened, opened) {
		return
	}
	b.opened = append(b.opened, opened)
	hidden := &matchers{} // another one, since Scrub reads the old one without the lock
	for _, o := range b.opened {
		hidden.add(o[0], o[1])
	}
	b.hidden = hidden
}

// Scrub replaces the values of secrets in a text by their placeholders, also where they
// are encoded as programs usually do: escaped for URLs, HTML, JSON or mail, up to
// maxDecoded times, in base64 (also twice), in hexadecimal or decimal numbers, in UTF-16, in other
// case, and with white space between. It takes time in proportion to the text.
func (b *Box) Scrub(text string) string {
	b.mu.RLock()
	hidden := b.hidden
	b.mu.RUnlock()
	if hidden == nil || len(text) < MinLength {
		return text
	}
	return replaceAll(text, hidden.find([]byte(text), 0))
}

// ScrubValue is Scrub for the texts of a JSON value.
func (b *Box) ScrubValue(v value.Value) value.Value {
	switch v := v.(type) {
	case string:
		return b.Scrub(v)
	case value.List:
		list := make(value.List, len(v))
		for i, item := range v {
			list[i] = b.ScrubValue(item)
		}
		return list
	case *value.Dict:
		d := &value.Dict{}
		for k, item := range v.All() {
			name, _ := k.(string)
			d.Put(b.Scrub(name), b.ScrubValue(item))
		}
		return d
	}
	return v
}

// ScrubError is Scrub for the text and the hint of an error. Of nil it is nil.
func (b *Box) ScrubError(err error) error {
	if err == nil {
		return nil
	}
	e := *value.ErrorOf(err, value.Failed)
	if e.Err != nil {
		if text := e.Err.Error(); b.Scrub(text) != text {
			e.Err = errors.New(b.Scrub(text))
		}
	}
	e.Hint = b.Scrub(e.Hint)
	return &e
}
