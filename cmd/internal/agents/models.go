package agents

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/draw"
	"github.com/cassidy-run/cassidy/cmd/internal/models"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/describe"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A command is one run of cassidy models.
type modelsCommand struct{ *app.App }

// ModelsCommand returns cassidy models.
func ModelsCommand(a *app.App) *cli.Command {
	c := &modelsCommand{a}
	return &cli.Command{
		Name: "models", Usage: "list the models of your providers, with context sizes, reply limits and prices", ArgsUsage: "[PROVIDER]",
		Description: "PROVIDER is cassidy, openai, anthropic, gemini, ollama or a provider of your config.yaml.\n" +
			"Without PROVIDER, the command lists the models of all providers that have a key in the environment\n" +
			"or an entry in your config.yaml. If a provider fails, the others are still listed, and the exit code is 7.",
		Action: c.list,
	}
}

func (c *modelsCommand) list(ctx *cli.Context) error {
	provider := ctx.Args().First()
	groups, err := c.Models().List(ctx.Context, provider)
	if err != nil {
		return err
	}
	if provider != "" && groups[0].Err != nil {
		return groups[0].Err
	}
	standard, err := c.Models().Name("")
	if err != nil {
		return err
	}
	if c.JSON {
		err = c.PrintJSON(modelsDict(groups, standard))
	} else {
		c.Print(modelTable(groups, standard, c.ScreenOf(c.Out)))
		c.report(groups)
	}
	if err == nil && slices.ContainsFunc(groups, func(g models.Group) bool { return g.Err != nil }) {
		return ui.ErrPartly
	}
	return err
}

// report prints what is not in the table: the errors of providers, those without a list, and
// those that are not configured.
func (c *modelsCommand) report(groups []models.Group) {
	for _, g := range groups {
		switch {
		case g.Err != nil:
			e := describe.ForUsers(g.Err)
			c.Log("provider %s: %s (%s)", g.Provider, e.Message(), e.Hint)
		case g.Example != "":
			c.Note("the provider %s has no list of models: use --model %s", g.Provider, g.Example)
		case g.Unset != "":
			c.Note("the provider %s is not configured: %s", g.Provider, g.Unset)
		case len(g.Models) == 0:
			c.Note("the provider %s has no models", g.Provider)
		}
	}
}

// modelsDict returns what --json prints. A number that is not known is null.
func modelsDict(groups []models.Group, standard string) *value.Dict {
	list, errs, unset := value.List{}, value.List{}, value.List{}
	for _, g := range groups {
		for i := range g.Models {
			list = append(list, modelDict(&g, &g.Models[i], standard))
		}
		if g.Err != nil {
			d := value.NewDict("provider", g.Provider)
			describe.PutError(d, g.Err)
			errs = append(errs, d)
		}
		if g.Unset != "" {
			unset = append(unset, value.NewDict("provider", g.Provider, "suggestion", g.Unset))
		}
	}
	return value.NewDict("models", list, "errors", errs, "not_configured", unset)
}

func modelDict(g *models.Group, l *model.Listing, standard string) *value.Dict {
	name := g.Provider + ":" + l.Name
	d := value.NewDict("model", name, "provider", g.Provider, "context", count(l.Context), "max_output", count(l.MaxOutput))
	input, cached, output := any(nil), any(nil), any(nil)
	tiers := value.List{}
	if p := l.Price; p != nil {
		input, output = p.Input, p.Output
		if p.CachedInput > 0 {
			cached = p.CachedInput
		}
		for _, t := range p.Tiers {
			tiers = append(tiers, value.NewDict("above", int64(t.Above), "input_price", t.Input, "output_price", t.Output))
		}
	}
	d.Put("input_price", input)
	d.Put("cached_input_price", cached)
	d.Put("output_price", output)
	d.Put("longer_inputs", tiers)
	d.Put("source", l.Source)
	d.Put("default", name == standard)
	return d
}

// count returns a number, or nil for 0, which means that it is not known.
func count(n int) value.Value {
	if n == 0 {
		return nil
	}
	return int64(n)
}

// marks are the signs of the table. In a cell they follow the number.
const (
	markDefault = "*" // the default model
	markTiers   = "+" // a price is higher for a longer input
)

// modelTable returns the models as a table, or "" for none.
func modelTable(groups []models.Group, standard string, s draw.Screen) string {
	rows := [][]string{{"model", "context", "reply", "input", "cached", "output"}}
	marked, tiered := false, false
	for _, g := range groups {
		for i := range g.Models {
			l := &g.Models[i]
			name := g.Provider + ":" + l.Name
			r := modelRow(ui.VisibleLine(name), l)
			if name == standard {
				r[0] += " " + markDefault
				marked = true
			}
			tiered = tiered || l.Price != nil && len(l.Price.Tiers) > 0
			rows = append(rows, r)
		}
	}
	if len(rows) == 1 {
		return ""
	}
	p := draw.Page{Screen: s}
	markPrices(rows)
	if s.Width > 0 {
		p.Lines(s.Table(&draw.Table{AllRows: true, Rows: rows[1:], Columns: []draw.Column{
			{Name: rows[0][0], Whole: true}, {Name: rows[0][1], Right: true, Rank: 1}, {Name: rows[0][2], Right: true, Rank: 3},
			{Name: rows[0][3], Right: true}, {Name: rows[0][4], Right: true, Rank: 2}, {Name: rows[0][5], Right: true},
		}}, ""))
	} else {
		for i, line := range modelLines(rows) {
			if i == 0 {
				line = s.Paint(draw.Bold, line)
			}
			p.Line(line)
		}
	}
	p.Line("")
	p.Long("", "Sizes are in tokens, prices in US dollars for a million tokens; \"-\" means unknown.")
	if marked {
		p.Long("", markDefault+" is used without --model.")
	}
	if tiered {
		p.Long("", markTiers+" costs more if the input is long; --json has these prices.")
	}
	return p.String()
}

// modelRow returns the cells of a model.
func modelRow(name string, l *model.Listing) []string {
	cells := []string{name, grouped(l.Context), grouped(l.MaxOutput), "-", "-", "-"}
	if p := l.Price; p != nil {
		cells[3], cells[5] = dollars(p.Input), dollars(p.Output)
		if p.CachedInput > 0 {
			cells[4] = dollars(p.CachedInput)
		}
		if len(p.Tiers) > 0 {
			cells[5] += " " + markTiers
		}
	}
	return cells
}

// markPrices makes a place for the marks of the last column.
func markPrices(rows [][]string) {
	last := len(rows[0]) - 1
	for _, r := range rows {
		if !strings.HasSuffix(r[last], " "+markTiers) {
			r[last] += "  "
		}
	}
}

// modelLines aligns cells: the first one to the left, numbers to the right.
func modelLines(rows [][]string) []string {
	widths := make([]int, len(rows[0]))
	for _, r := range rows {
		for i, cell := range r {
			widths[i] = max(widths[i], draw.Cells(cell))
		}
	}
	return ui.Map(rows, func(r []string) string {
		line := draw.Pad(r[0], widths[0], false)
		for i, cell := range r[1:] {
			line += "  " + draw.Pad(cell, widths[i+1], true)
		}
		return strings.TrimRight(line, " ")
	})
}

// grouped writes a number of tokens as 128,000, or "-" if it is not known.
func grouped(n int) string {
	if n == 0 {
		return "-"
	}
	return draw.Commas(strconv.Itoa(n))
}

// dollars writes a price with at least two decimals.
func dollars(price float64) string {
	text := strconv.FormatFloat(math.Round(price*1e6)/1e6, 'f', -1, 64)
	if _, decimals, _ := strings.Cut(text, "."); len(decimals) < 2 {
		return fmt.Sprintf("%.2f", price)
	}
	return text
}
