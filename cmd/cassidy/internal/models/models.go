// Package models opens the model that a flag, the user's config or the environment
// names.
package models

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/ui"
	"github.com/cassidy-run/cassidy/internal/config"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/model/anthropic"
	"github.com/cassidy-run/cassidy/runtime/model/cassidyai"
	"github.com/cassidy-run/cassidy/runtime/model/ollama"
	"github.com/cassidy-run/cassidy/runtime/model/openai"
	"github.com/cassidy-run/cassidy/runtime/model/script"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// The default models of providers.
const (
	defaultOpenAI    = "gpt-5"
	defaultAnthropic = "claude-sonnet-5-5"
)

// An Opener opens models for one command.
type Opener struct {
	Env    func(string) (string, bool)
	Dir    string // the value of --dir
	Home   string // the user's own folder, or ""
	Config string // the value of --config
	Silent bool   // nothing is asked: in place of a model that cannot be opened is one that fails
}

// modelChoices describes the values of --model.
const modelChoices = "use cassidy, openai:NAME, anthropic:NAME, ollama:NAME or script:FILE.star"

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
	word, err := o.Name(word)
	if err != nil {
		return nil, err
	}
	kind, name, _ := strings.Cut(word, ":")
	switch kind {
	case "":
		return nil, value.Errorf(value.Unavailable, "no model is configured").WithHint(
			"set CASSIDY_API_KEY and CASSIDY_ASSISTANT_ID, OPENAI_API_KEY, ANTHROPIC_API_KEY or OLLAMA_HOST. To choose a model, use --model or model: in your config.yaml. For another server, use openai:NAME with OPENAI_BASE_URL")
	case "cassidy":
		return atAddress("CASSIDY_BASE_URL")(o.cassidyModel(name))
	case "openai":
		return atAddress("OPENAI_BASE_URL")(o.openaiModel(name))
	case "anthropic":
		return atAddress("ANTHROPIC_BASE_URL")(o.anthropicModel(name))
	case "ollama":
		return atAddress("OLLAMA_HOST")(o.ollamaModel(name))
	case "script":
		return o.scriptModel(ctx, h, name, native)
	}
	known := []string{"cassidy", "openai", "anthropic", "ollama", "script"}
	return nil, value.Errorf(value.Invalid, "unknown model %q%s", word, value.DidYouMean(kind, known)).WithHint("%s", modelChoices)
}

// atAddress returns a function that replaces "the base URL" in an error by the name of its
// variable. The error does not contain the address, which may hold a password.
func atAddress(variable string) func(model.Model, error) (model.Model, error) {
	return func(m model.Model, err error) (model.Model, error) {
		e := value.ErrorOf(err, value.Invalid)
		if e == nil || !strings.HasPrefix(e.Message(), "the base URL ") {
			return m, err
		}
		return nil, value.Errorf(e.Kind, "%s", strings.Replace(e.Message(), "the base URL", variable, 1)).WithHint("%s", e.Hint)
	}
}

// Name returns the name of a model: word, or the default if that is "", see [Opener.Open].
func (o *Opener) Name(word string) (string, error) {
	if word == "" {
		config, err := config.Read("", &config.Options{Home: o.Home, File: o.Config})
		if err != nil {
			return "", err
		}
		word = config.Model
	}
	if word == "" {
		word = o.modelByKey()
	}
	return word, nil
}

// modelByKey returns the first model whose key is set, or "".
func (o *Opener) modelByKey() string {
	for _, m := range []struct{ variable, model string }{
		{"CASSIDY_API_KEY", "cassidy"}, {"OPENAI_API_KEY", "openai"}, {"ANTHROPIC_API_KEY", "anthropic"}, {"OLLAMA_HOST", "ollama"},
	} {
		if o.variable(m.variable) != "" {
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

// required returns an environment variable that a model needs.
func (o *Opener) required(word, name, what string) (string, error) {
	if v := o.variable(name); v != "" {
		return v, nil
	}
	return "", value.Errorf(value.Unavailable, "the model %s needs %s: %s is not set", word, what, name).WithHint("export %s=…", name)
}

func (o *Opener) cassidyModel(assistant string) (model.Model, error) {
	key, err := o.required("cassidy", "CASSIDY_API_KEY", "a key")
	if err != nil {
		return nil, err
	}
	if assistant == "" {
		if assistant, err = o.required("cassidy", "CASSIDY_ASSISTANT_ID", "an assistant"); err != nil {
			return nil, err
		}
	}
	return cassidyai.New(&cassidyai.Options{
		BaseURL: o.variable("CASSIDY_BASE_URL"), Key: key, Assistant: assistant, Auth: model.Auth(o.variable("CASSIDY_AUTH_STYLE")), KeyHint: "check CASSIDY_API_KEY",
	})
}

func (o *Opener) openaiModel(name string) (model.Model, error) {
	base := o.variable("OPENAI_BASE_URL")
	key := o.variable("OPENAI_API_KEY")
	if key == "" && base == "" { // other servers may need no key
		if _, err := o.required("openai", "OPENAI_API_KEY", "a key"); err != nil {
			return nil, err
		}
	}
	return openai.New(&openai.Options{BaseURL: base, Key: key, Model: cmp.Or(name, defaultOpenAI), KeyHint: "check OPENAI_API_KEY"})
}

func (o *Opener) anthropicModel(name string) (model.Model, error) {
	key, err := o.required("anthropic", "ANTHROPIC_API_KEY", "a key")
	if err != nil {
		return nil, err
	}
	return anthropic.New(&anthropic.Options{
		BaseURL: o.variable("ANTHROPIC_BASE_URL"), Key: key, Model: cmp.Or(name, defaultAnthropic), Version: o.variable("ANTHROPIC_VERSION"), KeyHint: "check ANTHROPIC_API_KEY",
	})
}

func (o *Opener) ollamaModel(name string) (model.Model, error) {
	if name == "" {
		return nil, value.Errorf(value.Invalid, "the name of the Ollama model is missing").WithHint("use --model ollama:NAME; list your models with: ollama list")
	}
	return ollama.New(&ollama.Options{BaseURL: o.variable("OLLAMA_HOST"), Model: name})
}

// scriptModel returns a model that is a script, which runs without capabilities.
func (o *Opener) scriptModel(ctx context.Context, h *host.Host, file string, native bool) (model.Model, error) {
	if file == "" {
		return nil, value.Errorf(value.Invalid, "the file of the model script is missing").WithHint("use --model script:FILE.star")
	}
	source, err := os.ReadFile(o.scriptFile(file))
	if err != nil {
		return nil, value.Errorf(value.Invalid, "read the model script:%s: %w", file, ui.FileError(err)).WithHint("use a Starlark file that defines def reply(messages, turn):")
	}
	s := tool.Script{Name: "model", Path: filepath.ToSlash(file), Source: string(source)}
	if !hasReply.MatchString(s.Source) {
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

var hasReply = regexp.MustCompile(`(?m)^def[ \t]+reply[ \t]*\(`)

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
