package gemini

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/model/catalog"
	"github.com/cassidy-run/cassidy/runtime/model/internal/wire"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// infoTimeout limits the request about a model, which a first answer waits for.
const infoTimeout = 5 * time.Second

// info asks the API for the sizes of the model. The table has its price.
func (m *client) info(ctx context.Context) model.Info {
	i := catalog.Find("gemini", m.o.Model)
	ctx, cancel := context.WithTimeout(ctx, infoTimeout)
	defer cancel()
	d, f := m.w.Ask(ctx, &wire.Query{Method: "GET", Path: m.path(), Header: m.header(), Retry: func(*wire.Failure) bool { return false }})
	if f == nil {
		i = withSizes(i, d)
	}
	return i
}

// withSizes adds the sizes of a model that the API returns.
// Source: https://ai.google.dev/api/models
func withSizes(i model.Info, d *value.Dict) model.Info {
	if d.Int("inputTokenLimit") <= 0 {
		return i
	}
	i.Context, i.Source = int(d.Int("inputTokenLimit")), "server"
	i.MaxOutput = cmp.Or(int(d.Int("outputTokenLimit")), i.MaxOutput)
	return i
}

// maxPages bounds the pages of the list of models. A page has up to 1,000.
const maxPages = 10

// List returns the models that can chat. Options.Model is not needed.
func List(ctx context.Context, opts *Options) ([]model.Listing, error) {
	o := Options{}
	if opts != nil {
		o = *opts
	}
	m, err := connect(&o)
	if err != nil {
		return nil, err
	}
	var list []model.Listing
	next := ""
	for range maxPages {
		d, f := m.w.Ask(ctx, &wire.Query{Method: "GET", Path: "/models?pageSize=1000" + next, Header: m.header()})
		if f != nil {
			return nil, m.explain(f).Err
		}
		for _, one := range wire.Children(d, "models") {
			if chats(one) {
				name := strings.TrimPrefix(one.Text("name"), "models/")
				list = append(list, model.Listing{Name: name, Info: withSizes(catalog.Find("gemini", name), one)})
			}
		}
		token := d.Text("nextPageToken")
		if token == "" || strings.Trim(token, nameCharacters+"/+=") != "" {
			break
		}
		next = "&pageToken=" + strings.NewReplacer("+", "%2B", "/", "%2F", "=", "%3D").Replace(token)
	}
	return list, nil
}

// chats reports whether a model generates content.
func chats(d *value.Dict) bool {
	return slices.ContainsFunc(d.Elements("supportedGenerationMethods"), func(v value.Value) bool { return v == "generateContent" })
}

// A version is that of a model, as 2.5. It is 0.0 for models that are not called Gemini.
type version struct {
	major, minor int
	name         string
}

// newest is the version of names without one, as in "gemini-flash-latest".
const newest = 3

func versionOf(name string) version {
	v := version{name: name}
	rest, ok := strings.CutPrefix(name[strings.LastIndexByte(name, '/')+1:], "gemini-")
	if !ok {
		return v
	}
	number, _, _ := strings.Cut(rest, "-")
	major, minor, _ := strings.Cut(number, ".")
	n, err := strconv.Atoi(major)
	if err != nil {
		v.major = newest
		return v
	}
	v.major = n
	v.minor, _ = strconv.Atoi(minor)
	return v
}

func (v version) atLeast(major, minor int) bool {
	return v.major > major || v.major == major && v.minor >= minor
}

// thinking returns the configuration of the reasoning, or nil for a model that has none. The
// level is higher by raise than that for the effort.
// Source: https://ai.google.dev/gemini-api/docs/thinking
func (v version) thinking(effort string, raise int) *value.Dict {
	if !v.atLeast(2, 5) || strings.Contains(v.name, "-image") || strings.Contains(v.name, "-tts") {
		return nil
	}
	d := value.NewDict("includeThoughts", true)
	switch {
	case effort == "":
	case v.atLeast(3, 0):
		d.Put("thinkingLevel", levels[min(v.level(effort)+raise, len(levels)-1)])
	default:
		d.Put("thinkingBudget", v.budget(effort))
	}
	return d
}

// levels are those of Gemini 3 and later, from the lowest. A model has some of them.
var levels = []string{"MINIMAL", "LOW", "MEDIUM", "HIGH"}

// level returns the number of the level for an effort. The Pro models cannot think as little as
// the others, and Gemini 3 Pro has two levels.
func (v version) level(effort string) int {
	pro := strings.Contains(v.name, "-pro")
	switch effort {
	case "none", "minimal":
		if pro {
			return 1
		}
		return 0
	case "low":
		return 1
	case "medium":
		if !pro || !(v.major == 3 && v.minor == 0) {
			return 2
		}
	}
	return 3
}

// budget returns the number of tokens for an effort. They are those of Google's own endpoint
// for OpenAI's clients, within the limits of each model.
func (v version) budget(effort string) int64 {
	pro := strings.Contains(v.name, "-pro")
	switch effort {
	case "none":
		if pro { // it always thinks
			return 128
		}
		return 0
	case "minimal":
		return 512
	case "low":
		return 1024
	case "medium":
		return 8192
	}
	if pro && effort != "high" {
		return 32768
	}
	return 24576
}
