package models

import (
	"maps"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/internal/config"
	"github.com/cassidy-run/cassidy/runtime/model/catalog"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Resolve returns the name of the model that an agent file names, as [Opener.Open] takes it. Besides
// such a name, a file may have PROVIDER/NAME, the name of a well-known model without its provider, or
// a word of it: the newest model with this word in its name, as claude-sonnet-5-5 for sonnet. "" is
// "". Resolve fails with kind Invalid for anything else.
func (o *Opener) Resolve(word string) (string, error) {
	c, err := o.config()
	if word == "" || err != nil {
		return word, err
	}
	if strings.HasPrefix(word, "script:") {
		return o.Lasting(word), nil
	}
	name := word
	if before, after, ok := strings.Cut(word, "/"); ok && !strings.Contains(before, ":") {
		name = before + ":" + after
	}
	kind, _, _ := strings.Cut(name, ":")
	if _, err := o.provider(&c, kind); err == nil {
		return name, nil
	}
	if !strings.ContainsAny(word, ":/") {
		if known := wellKnown(word); known != "" {
			return known, nil
		}
	}
	return "", value.Errorf(value.Invalid, "unknown model %q%s", value.Clean(word, 100), nearModel(&c, name)).
		WithHint(`write "model: inherit", or "model: PROVIDER:NAME", as in "model: anthropic:%s"; to list models: cassidy models`, defaultAnthropic)
}

// nearModel returns which model is meant by an unknown name, as [value.DidYouMean] does.
func nearModel(c *config.Config, name string) string {
	providers := slices.Concat(config.BuiltinProviders(), []string{"script"}, slices.Sorted(maps.Keys(c.Providers)))
	if provider, own, ok := strings.Cut(name, ":"); ok {
		if near := value.Nearest(provider, providers); near != "" {
			return `; did you mean "` + value.Clean(near+":"+own, 100) + `"?`
		}
		return ""
	}
	names := append(providers, "inherit")
	for _, vendor := range vendors() {
		for _, l := range catalog.List(vendor) {
			names = append(append(names, l.Name), strings.Split(l.Name, "-")[1:]...)
		}
	}
	return value.DidYouMean(name, names)
}

// vendors returns the providers whose well-known models an agent file can name alone.
func vendors() []string { return []string{"anthropic", "openai", "gemini"} }

// wellKnown returns the well-known model with a name, or with a word in its name behind the first, or
// "".
func wellKnown(word string) string {
	for _, vendor := range vendors() {
		if catalog.Find(vendor, word).Context > 0 {
			return vendor + ":" + word
		}
	}
	for _, vendor := range vendors() {
		for _, l := range catalog.List(vendor) { // the newest first
			if slices.Contains(strings.Split(l.Name, "-")[1:], strings.ToLower(word)) {
				return vendor + ":" + l.Name
			}
		}
	}
	return ""
}
