// Package models opens the model that a flag, the user's config or the environment
// names.
package models

import (
	"cmp"
	"context"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/config"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/model/script"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// The default models of providers.
const (
	defaultOpenAI    = "gpt-6.2-sol"
	defaultAnthropic = "claude-sonnet-5-5"
	defaultGemini    = "gemini-3-pro"
)

// An Opener opens models for one command.
type Opener struct {
	Env    func(string) (string, bool)
	Dir    string // the value of --dir
	Home   string // the user's own folder, or ""
	Config string // the value of --config
	// Keyring returns a secret from the system's keyring. Nil has none.
	Keyring func(name string) (string, error)
	Silent  bool // nothing is asked: in place of a model that cannot be opened is one that fails
}

// Choices are the values of --model.
const Choices = "cassidy, openai:NAME, anthropic:NAME, gemini:NAME, ollama:NAME, script:FILE.star (a script that acts as the model), or PROVIDER:NAME with a provider of your config.yaml; to list models: cassidy models"

// Default describes the model without --model, see [Opener.Open].
const Default = "the model in your config.yaml, else the first provider with a key in the environment"

// Open opens the model with a name: by default that of the user's config, or the first one
// whose key is set.
func (o *Opener) Open(ctx context.Context, h *host.Host, word string, native bool) (model.Model, error) {
	m, err := o.open(ctx, h, word, native)
	if err != nil && o.Silent {
		return script.New(word, native, func(context.Context, value.List, int) (value.Value, error) { return nil, err }), nil
	}
	return m, err
}

func (o *Opener) open(ctx context.Context, h *host.Host, word string, native bool) (model.Model, error) {
	c, err := o.config()
	if err != nil {
		return nil, err
	}
	word = cmp.Or(word, c.Model, o.modelByKey(&c))
	kind, name, _ := strings.Cut(word, ":")
	switch kind {
	case "":
		return nil, value.Errorf(value.Unavailable, "no model is configured").WithHint("%s", o.toSet(&c))
	case "script":
		return o.scriptModel(ctx, h, name, native)
	}
	p, err := o.provider(&c, kind)
	if err != nil {
		return nil, err
	}
	return o.connect(&c, p, name)
}

// toSet describes what to set if no model is configured.
func (o *Opener) toSet(c *config.Config) string {
	const variables = "cassidy setup asks for a provider, a key and a model; or set OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY or OLLAMA_HOST, or both CASSIDY_API_KEY and CASSIDY_ASSISTANT_ID, and choose with --model; "
	if len(c.Providers) == 0 {
		return variables + "for another server, use openai:NAME with OPENAI_BASE_URL, or providers: in your config.yaml"
	}
	names := slices.Sorted(maps.Keys(c.Providers))
	return variables + "your config.yaml has the providers " + strings.Join(names, ", ") + ": use --model " + names[0] + ":NAME"
}

// config reads the user's config.
func (o *Opener) config() (config.Config, error) {
	return config.Read("", &config.Options{Home: o.Home, File: o.Config})
}

// Name returns the name of a model: word, or the default if that is "", see [Opener.Open]. A
// provider alone gets the name of its default model, if it has one.
func (o *Opener) Name(word string) (string, error) {
	c, err := o.config()
	if err != nil {
		return "", err
	}
	word = cmp.Or(word, c.Model, o.modelByKey(&c))
	if p, err := o.provider(&c, word); err == nil && p.fallback != "" {
		word += ":" + p.fallback
	}
	return word, nil
}

// modelByKey returns the first provider whose key is set, or "".
func (o *Opener) modelByKey(c *config.Config) string {
	for _, m := range []struct{ variable, model string }{
		{"CASSIDY_API_KEY", "cassidy"}, {"OPENAI_API_KEY", "openai"}, {"ANTHROPIC_API_KEY", "anthropic"},
		{"GEMINI_API_KEY", "gemini"}, {"GOOGLE_API_KEY", "gemini"}, {"OLLAMA_HOST", "ollama"},
	} {
		if key, err := o.key(c, m.variable); key != "" || err != nil { // an error is reported when the key is used
			return m.model
		}
	}
	return ""
}

// variable returns an environment variable, or "".
func (o *Opener) variable(name string) string {
	v, _ := o.Env(name)
	return strings.TrimSpace(v)
}

// key returns the value of an environment variable, or else of the secret with its name, or "".
func (o *Opener) key(c *config.Config, name string) (string, error) {
	if key := o.variable(name); key != "" {
		return key, nil
	}
	key, err := c.Secrets[name].Read(func(name string) (string, error) { return o.variable(name), nil }, o.Keyring)
	if value.KindOf(err) == value.NotFound {
		return "", nil
	}
	if err != nil {
		return "", value.Errorf(value.Unavailable, "read the secret %s from the keyring: %w", name, err).WithHint("unlock the keyring, or export %s=…", name)
	}
	return strings.TrimSpace(key), nil
}

// scriptModel returns a model that is a script, which runs without capabilities.
func (o *Opener) scriptModel(ctx context.Context, h *host.Host, file string, native bool) (model.Model, error) {
	if file == "" {
		return nil, value.Errorf(value.Invalid, "the name of the file is missing after script:").WithHint("use --model script:FILE.star")
	}
	source, err := os.ReadFile(o.scriptFile(file))
	if err != nil {
		return nil, value.Errorf(value.Invalid, "read the model script:%s: %w", file, ui.FileError(err)).WithHint("use the path of a Starlark file that defines reply(messages, turn)")
	}
	s := tool.Script{Name: "model", Path: filepath.ToSlash(file), Source: string(source)}
	if !hasReply().MatchString(s.Source) {
		return nil, value.Errorf(value.Invalid, "the model script:%s has no function reply", file).WithHint("add to the file: def reply(messages, turn):")
	}
	if err := h.Check(ctx, &host.Program{Name: "model script:" + file, Script: s}); err != nil {
		return nil, err
	}
	return script.New(file, native, func(ctx context.Context, messages value.List, turn int) (value.Value, error) {
		out, err := h.RunProgram(ctx, &host.Program{
			Name: "model script:" + file, Script: s, Entry: "reply", Args: value.NewDict("messages", messages, "turn", int64(turn)),
		})
		return out.Value, err
	}), nil
}

// scriptFile returns the file of a scripted model: relative to the current folder, or else
// to the working folder.
func (o *Opener) scriptFile(file string) string {
	if filepath.IsAbs(file) || o.Dir == "" {
		return file
	}
	if _, err := os.Stat(file); err == nil {
		return file
	}
	inDir := filepath.Join(o.Dir, file)
	if _, err := os.Stat(inDir); err != nil {
		return file
	}
	return inDir
}

var hasReply = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^def[ \t]+reply[ \t]*\(`) })

// Lasting returns a name of the same model that is valid in every folder: the file of a
// scripted model becomes absolute.
func (o *Opener) Lasting(word string) string {
	file, isScript := strings.CutPrefix(word, "script:")
	if !isScript {
		return word
	}
	if abs, err := filepath.Abs(o.scriptFile(file)); err == nil {
		return "script:" + abs
	}
	return word
}
