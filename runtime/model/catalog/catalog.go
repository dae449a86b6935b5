// Package catalog has the sizes and prices of well-known models.
package catalog

import (
	"bufio"
	_ "embed"
	"strconv"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/model"
)

// table has a line for each model, see its head.
//
//go:embed models.tsv
var table string

// Find returns what the table knows about a model of a provider: "openai", "anthropic" or
// "gemini". A name may have a date or a version behind that of the table, as in
// "claude-haiku-4-5-20251001"; the longest name of the table counts. An unknown model is the
// zero [model.Info].
func Find(provider, name string) model.Info {
	var info model.Info
	longest := -1
	for _, l := range List(provider) {
		rest, ok := strings.CutPrefix(name, l.Name)
		if ok && len(l.Name) > longest && (rest == "" || isVersion(rest)) {
			longest, info = len(l.Name), l.Info
		}
	}
	return info
}

// isVersion reports whether the rest of a name only says which release of a model it is: a date
// or a number, "latest" or "preview". A short number directly behind the name is that of another
// model, as in "claude-opus-4-8", whose price differs from that of "claude-opus-4".
func isVersion(rest string) bool {
	first, _, _ := strings.Cut(strings.TrimLeft(rest, "-@"), "-")
	if number(first) > 0 && len(first) < 3 {
		return false
	}
	for part := range strings.SplitSeq(strings.TrimLeft(rest, "-@"), "-") {
		if part != "latest" && part != "preview" && strings.Trim(part, "0123456789") != "" {
			return false
		}
	}
	return rest[0] == '-' || rest[0] == '@'
}

// List returns the models of a provider in the table.
func List(provider string) []model.Listing {
	var list []model.Listing
	for s := bufio.NewScanner(strings.NewReader(table)); s.Scan(); {
		cells := strings.Split(s.Text(), "\t")
		if strings.HasPrefix(s.Text(), "#") || cells[0] != provider {
			continue
		}
		l := model.Listing{Name: cells[1], Info: model.Info{Context: int(number(cells[2])), MaxOutput: int(number(cells[3])), Source: "table"}}
		if cells[4] != "" {
			l.Media = strings.Split(cells[4], " ")
		}
		if cells[5] != "" {
			l.Price = price(cells[5:])
		}
		list = append(list, l)
	}
	return list
}

// price reads the cells of a price, and of one tier if there are more.
func price(cells []string) *model.Price {
	p := &model.Price{Input: number(cells[0]), CachedInput: number(cells[1]), CacheWrite: number(cells[2]), Output: number(cells[3])}
	if len(cells) > 8 {
		p.Tiers = []model.Tier{{Above: int(number(cells[4])), Input: number(cells[5]), CachedInput: number(cells[6]), CacheWrite: number(cells[7]), Output: number(cells[8])}}
	}
	return p
}

// number reads a number of the table. A test checks the table.
func number(text string) float64 {
	f, _ := strconv.ParseFloat(text, 64)
	return f
}
