package stdlib

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"html"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/encoding"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

// A secretBox knows the values of secrets. A script holds a placeholder in
// their stead; the functions of http put the value there when nobody but the
// server can see it any more, and take it out of whatever comes back.
type secretBox struct {
	lookup row.Lookup

	mu    sync.RWMutex
	forms []secretForm // of every secret that was opened, the longest first
}

// A secretForm is a text in which a value may come back.
type secretForm struct{ text, instead string }

// secretPlaceholder is what stands for a secret.
var secretPlaceholder = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\{\{secret:([A-Za-z0-9_][A-Za-z0-9_.-]{0,99})\}\}`)
})

// secretMark is how every placeholder begins, and secretMarkEncoded how it
// begins in a query or a form.
const (
	secretMark        = "{{secret:"
	secretMarkEncoded = "%7B%7Bsecret%3A"
)

// secretShortest is how long a value must be: a shorter one would turn up by
// chance, and hiding it would spoil every text.
const secretShortest = 4

func (w *World) secretFuncs() []tool.Func {
	return []tool.Func{{
		Name: "secret",
		Doc: "Stand in for a secret that the user lends to this tool for one host, such as a token. What it gives is a " +
			"placeholder that holds nothing of the value: put it into headers, params or auth of an http function, as in " +
			`{"Authorization": "Bearer " + secret("TOKEN")}, which sends the value to that host, over https, and hides ` +
			"it in what comes back. The tool declares secret:NAME@HOST. Fails where the user has set no value.",
		Params:  []tool.Param{tool.Required("name", tool.TypeString, "the secret's name, as in needs and in the user's config")},
		Returns: `the placeholder, a text as in "{{secret:TOKEN}}"`,
		Kind:    tool.Read,
		Target: func(args *value.Dict) ([]tool.Capability, error) {
			_, err := secretHandle(args.Text("name"))
			return []tool.Capability{{Name: "secret", Target: args.Text("name") + "@"}}, err
		},
		Do: func(ctx context.Context, e tool.Effect, _ tool.Grant) (tool.Outcome, error) {
			placeholder, err := secretHandle(e.Args.Text("name"))
			if err == nil {
				_, err = w.secrets.open(ctx, e.Args.Text("name"))
			}
			if stopped := row.Stopped(ctx); stopped != nil {
				err = stopped
			}
			return tool.Outcome{Value: placeholder}, err
		},
	}}
}

// secretHandle returns what stands for a secret.
func secretHandle(name string) (string, error) {
	placeholder := secretMark + name + "}}"
	if secretPlaceholder().FindString(placeholder) != placeholder {
		return "", value.Errorf(value.Invalid, "%q is not the name of a secret", row.Short(name))
	}
	return placeholder, nil
}

// open returns the value of a secret, which from now on is hidden. Where ctx ends
// its error is that of ctx.
func (b *secretBox) open(ctx context.Context, name string) (string, error) {
	val, set, err := b.lookup.Get(ctx, "Options.Secrets", name)
	val = strings.TrimRight(val, "\r\n") // as the files end in which people keep them
	switch {
	case err != nil && ctx.Err() != nil:
		return "", err
	case err != nil:
		if len(val) >= secretShortest {
			b.hide(name, val)
		}
		e := *value.ErrorOf(err, value.Failed)
		e.Err = fmt.Errorf("get the secret %s: %s", name, e.Message())
		return "", b.scrubError(&e)
	case !set || val == "":
		return "", value.Errorf(value.Unavailable, "the secret %s has no value here", name).
			WithHint("the user's config says where it comes from, as in secrets: {%s: {env: %s}}; the variable must be set, or the file be readable", name, name)
	case len(val) < secretShortest:
		return "", value.Errorf(value.Failed, "the secret %s is too short to be hidden: %d characters are needed", name, secretShortest)
	}
	b.hide(name, val)
	return val, nil
}

// hide has scrub replace a value by the secret's placeholder.
func (b *secretBox) hide(name, value string) {
	form := secretForm{value, secretMark + name + "}}"}
	b.mu.Lock()
	defer b.mu.Unlock()
	if slices.Contains(b.forms, form) {
		return
	}
	forms := slices.Clone(b.forms)
	for _, text := range secretForms(value) {
		forms = append(forms, secretForm{text, form.instead})
	}
	slices.SortStableFunc(forms, func(x, y secretForm) int { return cmp.Compare(len(y.text), len(x.text)) })
	b.forms = slices.Compact(forms)
}

// scrub takes the values of secrets out of a text.
func (b *secretBox) scrub(text string) string {
	b.mu.RLock()
	forms := b.forms
	b.mu.RUnlock()
	for _, f := range forms {
		if len(text) >= len(f.text) && strings.Contains(text, f.text) {
			text = strings.ReplaceAll(text, f.text, f.instead)
		}
	}
	return text
}

// scrubValue takes the values of secrets out of the texts of a JSON value.
func (b *secretBox) scrubValue(v value.Value) value.Value {
	switch v := v.(type) {
	case string:
		return b.scrub(v)
	case value.List:
		list := make(value.List, len(v))
		for i, item := range v {
			list[i] = b.scrubValue(item)
		}
		return list
	case *value.Dict:
		d := &value.Dict{}
		for k, item := range v.All() {
			name, _ := k.(string)
			d.Put(b.scrub(name), b.scrubValue(item))
		}
		return d
	}
	return v
}

// scrubError takes the values of secrets out of an error.
func (b *secretBox) scrubError(err error) error {
	if err == nil {
		return nil
	}
	e := *value.ErrorOf(err, value.Failed)
	if e.Err != nil {
		if text := e.Err.Error(); b.scrub(text) != text {
			e.Err = errors.New(b.scrub(text))
		}
	}
	e.Hint = b.scrub(e.Hint)
	return &e
}

// secretForms gives a value in the forms in which servers give back what they
// were sent: as it is, escaped, and encoded.
func secretForms(val string) []string {
	escaped := encoding.EscapeURL(val, "")
	quoted := strings.Trim(value.FormatJSON(val, ""), `"`)
	forms := []string{
		val, strings.ToLower(val), // as in the name of a host
		escaped, secretLowerHex(escaped), url.QueryEscape(val), url.PathEscape(val),
		quoted, strings.NewReplacer("<", `\u003c`, ">", `\u003e`, "&", `\u0026`).Replace(quoted), strings.ReplaceAll(quoted, "/", `\/`),
		html.EscapeString(val),
		hex.EncodeToString([]byte(val)), strings.ToUpper(hex.EncodeToString([]byte(val))),
		base64.RawStdEncoding.EncodeToString([]byte(val)), base64.RawURLEncoding.EncodeToString([]byte(val)),
	}
	for before := range 3 {
		forms = append(forms, secretInBase64(base64.RawStdEncoding, val, before), secretInBase64(base64.RawURLEncoding, val, before))
	}
	return slices.DeleteFunc(forms, func(s string) bool { return len(s) < secretShortest })
}

// secretInBase64 gives what of a value is seen in base64 of a text in which it
// stands behind others, as a password does in an Authorization header.
func secretInBase64(encoding *base64.Encoding, value string, before int) string {
	const fewest = 8 // less would turn up by chance
	text := encoding.EncodeToString([]byte(strings.Repeat("\x00", before) + value))
	first, last := (8*before+5)/6, 8*(before+len(value))/6
	if last-first < fewest {
		return ""
	}
	return text[first:last]
}

// secretLowerHex writes %AF as %af, as some servers do.
func secretLowerHex(escaped string) string {
	b := []byte(escaped)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:], strings.ToLower(string(b[i+1:i+3])))
		}
	}
	return string(b)
}
