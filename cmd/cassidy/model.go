package main

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/ui"
	"github.com/cassidy-run/cassidy/internal/config"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// The models that a provider is asked for where only the provider is named.
const (
	defaultOpenAI    = "gpt-5"
	defaultAnthropic = "claude-sonnet-4-5"
)

// modelChoices says what --model takes.
const modelChoices = "--model takes cassidy, openai:NAME, anthropic:NAME, ollama:NAME or script:FILE.star"

// openModel returns the model that a word names: that of the flag, else of the
// user's config, else the first whose key is set.
func (c *command) openModel(ctx context.Context, h *host.Host, word string, native bool) (model.Model, error) {
	word, err := c.modelName(word)
	if err != nil {
		return nil, err
	}
	kind, name, _ := strings.Cut(word, ":")
	switch kind {
	case "":
		return nil, value.Errorf(value.Unavailable, "no model is configured").WithHint(
			"set CASSIDY_API_KEY and CASSIDY_ASSISTANT_ID, or OPENAI_API_KEY, or ANTHROPIC_API_KEY, or OLLAMA_HOST; or give --model; or write model: … into your config.yaml. %s", modelChoices)
	case "cassidy":
		return c.cassidyModel(name)
	case "openai":
		return c.openaiModel(name)
	case "anthropic":
		return c.anthropicModel(name)
	case "ollama":
		return c.ollamaModel(name)
	case "script":
		return c.scriptModel(ctx, h, name, native)
	}
	known := []string{"cassidy", "openai", "anthropic", "ollama", "script"}
	return nil, value.Errorf(value.Invalid, "there is no model %q%s", word, value.DidYouMean(kind, known)).WithHint("%s", modelChoices)
}

// modelName returns the word for a model: the one that is given, else that of the
// user's config, else of the first whose key is set.
func (c *command) modelName(word string) (string, error) {
	if word == "" {
		config, err := config.Read("", &config.Options{Home: c.home(), File: c.config})
		if err != nil {
			return "", err
		}
		word = config.Model
	}
	if word == "" {
		word = c.modelByKey()
	}
	return word, nil
}

// modelByKey returns the first model whose key the environment has.
func (c *command) modelByKey() string {
	for _, m := range []struct{ variable, model string }{
		{"CASSIDY_API_KEY", "cassidy"}, {"OPENAI_API_KEY", "openai"}, {"ANTHROPIC_API_KEY", "anthropic"}, {"OLLAMA_HOST", "ollama"},
	} {
		if c.variable(m.variable) != "" {
			return m.model
		}
	}
	return ""
}

// variable returns an environment variable, "" for one that is not set.
func (c *command) variable(name string) string {
	v, _ := c.Env(name)
	return strings.TrimSpace(v)
}

// required returns a variable that a model cannot do without.
func (c *command) required(word, name, what string) (string, error) {
	if v := c.variable(name); v != "" {
		return v, nil
	}
	return "", value.Errorf(value.Unavailable, "the model %s needs %s, and %s is not set", word, what, name).WithHint("export %s=…", name)
}

func (c *command) cassidyModel(assistant string) (model.Model, error) {
	key, err := c.required("cassidy", "CASSIDY_API_KEY", "a key")
	if err != nil {
		return nil, err
	}
	if assistant == "" {
		if assistant, err = c.required("cassidy", "CASSIDY_ASSISTANT_ID", "an assistant"); err != nil {
			return nil, err
		}
	}
	return model.NewCassidy(&model.CassidyOptions{
		BaseURL: c.variable("CASSIDY_BASE_URL"), Key: key, Assistant: assistant, Auth: model.Auth(c.variable("CASSIDY_AUTH_STYLE")), KeyHint: "check CASSIDY_API_KEY",
	})
}

func (c *command) openaiModel(name string) (model.Model, error) {
	base := c.variable("OPENAI_BASE_URL")
	key := c.variable("OPENAI_API_KEY")
	if key == "" && base == "" { // a server of one's own may need none
		if _, err := c.required("openai", "OPENAI_API_KEY", "a key"); err != nil {
			return nil, err
		}
	}
	if name == "" {
		name = defaultOpenAI
	}
	return model.NewOpenAI(&model.OpenAIOptions{BaseURL: base, Key: key, Model: name, KeyHint: "check OPENAI_API_KEY"})
}

func (c *command) anthropicModel(name string) (model.Model, error) {
	key, err := c.required("anthropic", "ANTHROPIC_API_KEY", "a key")
	if err != nil {
		return nil, err
	}
	if name == "" {
		name = defaultAnthropic
	}
	return model.NewAnthropic(&model.AnthropicOptions{
		BaseURL: c.variable("ANTHROPIC_BASE_URL"), Key: key, Model: name, Version: c.variable("ANTHROPIC_VERSION"), KeyHint: "check ANTHROPIC_API_KEY",
	})
}

func (c *command) ollamaModel(name string) (model.Model, error) {
	if name == "" {
		return nil, value.Errorf(value.Invalid, "which of Ollama's models?").WithHint("--model ollama:NAME; ollama list names those that you have")
	}
	return model.NewOllama(&model.OllamaOptions{BaseURL: c.variable("OLLAMA_HOST"), Model: name})
}

// scriptModel returns a model that a script plays, in the sandbox and without
// any capability.
func (c *command) scriptModel(ctx context.Context, h *host.Host, file string, native bool) (model.Model, error) {
	if file == "" {
		return nil, value.Errorf(value.Invalid, "which script?").WithHint("--model script:FILE.star")
	}
	source, err := os.ReadFile(c.scriptFile(file))
	if err != nil {
		return nil, value.Errorf(value.Invalid, "the model script:%s: %w", file, ui.FileError(err)).WithHint("give the path of a Starlark file with def reply(messages, turn)")
	}
	s := tool.Script{Name: "model", Path: filepath.ToSlash(file), Source: string(source)}
	if !hasReply.MatchString(s.Source) {
		return nil, value.Errorf(value.Invalid, "the model script:%s has no function reply", file).WithHint("it begins with: def reply(messages, turn):")
	}
	if err := h.Check(ctx, &host.Program{Name: "model script:" + file, Script: s}); err != nil {
		return nil, err
	}
	return model.NewScript(file, native, func(ctx context.Context, messages value.List, turn int) (value.Value, error) {
		out, err := h.RunProgram(ctx, &host.Program{
			Name: "model script:" + file, Script: s, Entry: "reply", Args: value.NewDict("messages", messages, "turn", int64(turn)),
		})
		return out.Value, err
	}), nil
}

// scriptFile is where the script of a model is: as it is named, else in the folder
// to work in.
func (c *command) scriptFile(file string) string {
	if filepath.IsAbs(file) || c.dir == "" {
		return file
	}
	below := filepath.Join(c.dir, file)
	if _, err := os.Stat(file); err == nil {
		return file
	}
	if _, err := os.Stat(below); err != nil {
		return file
	}
	return below
}

var hasReply = regexp.MustCompile(`(?m)^def[ \t]+reply[ \t]*\(`)

// names returns the words of a flag that takes a list.
func names(list []string) []string {
	var all []string
	for _, item := range list {
		for _, word := range strings.Split(item, ",") {
			if word = strings.TrimSpace(word); word != "" && !slices.Contains(all, word) {
				all = append(all, word)
			}
		}
	}
	return all
}
