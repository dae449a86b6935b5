package table

import (
	"math"
	"slices"

	"github.com/go-analyze/charts"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

// Limits of a chart. More would take long to draw, and nobody could read it.
const (
	maxSide     = 2000      // pixels
	maxPoints   = 1_000_000 // rows of a line, a scatter chart or a histogram
	maxLabels   = 100       // bars, or texts below a line
	maxSectors  = 30        // of a pie
	maxSeries   = 10
	maxBins     = 30
	linePlaces  = 300 // places on the axis of a line with more points than that
	longestText = 40  // characters of a label

	scatterPlaces, scatterLevels = 160, 80 // of points that are drawn: the library takes 0.1 ms for each
)

func chartKinds() []string { return []string{"bar", "line", "scatter", "pie", "histogram"} }

func chartRows() []member {
	return []member{{tool.Func{
		Name: "chart",
		Doc: "Draw the rows as a chart. The kinds are:\n\n" +
			"- bar: a bar for each row, at most 100\n" +
			"- line: a line over numbers, dates or times, in their order; or over at most 100 texts, in the order of the rows\n" +
			"- scatter: a point for each row, over numbers, dates or times\n" +
			"- pie: a sector for each row, at most 30\n" +
			"- histogram: how many values of a column of numbers are in each of up to 30 intervals; x is the column, without y\n\n" +
			"A missing value is not drawn. A chart has at most 1,000,000 rows: group them before, as in `t.group_by(\"city\").agg(total = (\"amount\", \"sum\")).chart(\"bar\", \"city\", \"total\")`. " +
			"A PNG has only Latin, Greek and Cyrillic letters; for other texts, use SVG.",
		Params: []tool.Param{
			tool.Required("kind", tool.TypeString, "bar, line, scatter, pie or histogram."),
			tool.Required("x", tool.TypeString, "The column of the horizontal axis, or of the names of bars and sectors."),
			tool.Maybe("y", tool.TypeCharacter, "The column of numbers, or several columns, at most 10. A pie has one."),
			tool.Optional("title", tool.TypeString, "", "The title above the chart."),
			tool.Optional("format", tool.TypeString, "png", "png: an image, as the type media. svg: a text in SVG."),
			tool.Optional("width", tool.TypeInteger, int64(800), "The width in pixels, from 100 to 2,000."),
			tool.Optional("height", tool.TypeInteger, int64(500), "The height in pixels, from 100 to 2,000."),
			tool.Optional("parts", tool.TypeBoolean, false, "If it is True, the result is a dict with the chart and its parts: the numbers in it, each of which can be passed to show."),
		},
		Returns: "an image, or a text with format = \"svg\"; or a dict with parts = True",
	}, chart}}
}

// A plot is what a chart shows: numbers at places along an axis.
type plot struct {
	kind   string
	x      string
	names  []string      // of the series
	labels []string      // of the places
	series [][]float64   // numbers by place; NaN is none
	points [][][]float64 // of a scatter chart: the numbers at each place
	parts  value.List
}

func chart(c *call) (value.Value, error) {
	p := &plot{kind: c.args.Text("kind"), x: c.args.Text("x"), names: row.Strings(c.args, "y")}
	format, width, height := c.args.Text("format"), c.args.Int("width"), c.args.Int("height")
	for _, side := range []struct {
		name   string
		pixels int64
	}{{"width", width}, {"height", height}} {
		if side.pixels < 100 || side.pixels > maxSide {
			return nil, value.Errorf(value.Invalid, "argument '%s' should be from 100 to %d", side.name, maxSide)
		}
	}
	if !slices.Contains(chartKinds(), p.kind) {
		return nil, oneOf("kind", p.kind, chartKinds())
	}
	if format != charts.ChartOutputPNG && format != charts.ChartOutputSVG {
		return nil, oneOf("format", format, []string{charts.ChartOutputPNG, charts.ChartOutputSVG})
	}
	if err := p.read(c); err != nil {
		return nil, err
	}
	data, err := p.draw(charts.PainterOptions{OutputFormat: format, Width: int(width), Height: int(height)}, cutTo(escaped(c.args.Text("title")), 2*longestText))
	if err != nil {
		return nil, err
	}
	var drawn value.Value = string(data)
	if format == charts.ChartOutputPNG {
		if drawn, err = value.NewMedia(data); err != nil {
			return nil, err
		}
	}
	if c.args.Bool("parts") {
		return value.NewDict("chart", drawn, "parts", p.parts), nil
	}
	return drawn, nil
}

// read reads the columns of the chart.
func (p *plot) read(c *call) error {
	t, columns := c.table(), maxSeries
	if p.kind == "pie" {
		columns = 1
	}
	switch {
	case p.kind == "histogram" && len(p.names) > 0:
		return value.Errorf(value.Invalid, "a histogram has no 'y'").WithHint("in a script, pass only the column: t.chart(\"histogram\", %q)", cut(p.x))
	case p.kind == "histogram":
		p.names = []string{p.x}
	case len(p.names) == 0:
		return value.Errorf(value.Invalid, "argument 'y' is missing").WithHint("pass the column of numbers; the columns are %s", someNames(t.names))
	case len(p.names) > columns:
		return value.Errorf(value.Invalid, "too many columns in 'y': %d, limit %d", len(p.names), columns)
	}
	indexes, err := t.columns(append([]string{p.x}, p.names...))
	if err != nil {
		return err
	}
	for _, at := range indexes[1:] {
		if !t.types[at].number() {
			return value.Errorf(value.Invalid, "the column %q is %s, not numbers", cut(t.names[at]), t.types[at]).
				WithHint("choose a column of numbers, or read it as numbers with the option types: {%q: \"float\"}", cut(t.names[at]))
		}
	}
	along := t.types[indexes[0]]
	byText := p.kind == "bar" || p.kind == "pie" || !along.number() && !along.time()
	if byText && p.kind == "scatter" {
		return value.Errorf(value.Invalid, "the column %q is %s: a scatter chart needs numbers, dates or times", cut(p.x), along)
	}
	most := maxPoints
	switch {
	case p.kind == "pie":
		most = maxSectors
	case byText:
		most = maxLabels
	}
	var xs []float64
	ys := make([][]float64, len(p.names))
	budget := newBudget(c.grant)
	err = t.eachOf(c.ctx, c.grant, indexes, func(b *Batch) error {
		if len(ys[0])+b.Rows > most {
			return value.Errorf(value.Invalid, "too many rows for a %s chart: the limit is %s", p.kind, thousands(int64(most))).
				WithHint("group or filter the rows before, or use fewer, as with head(%d)", most)
		}
		if err := budget.take(int64(b.Rows) * int64(len(indexes)) * 8); err != nil {
			return err
		}
		for i := range b.Rows {
			if x := b.Columns[indexes[0]]; byText {
				p.labels = append(p.labels, label(x.text(i)))
			} else {
				xs = append(xs, x.height(i))
			}
			for j := range ys {
				ys[j] = append(ys[j], b.Columns[indexes[j+1]].height(i))
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	drawable := func(y float64) bool { return !math.IsNaN(y) }
	if !slices.ContainsFunc(ys, func(y []float64) bool { return slices.ContainsFunc(y, drawable) }) {
		return value.Errorf(value.Invalid, "there is nothing to draw: no row has a number in %s", someNames(p.names))
	}
	switch p.series = ys; {
	case p.kind == "histogram":
		p.bin(ys[0])
	case p.kind == "pie" && slices.ContainsFunc(ys[0], func(y float64) bool { return y < 0 }):
		return value.Errorf(value.Invalid, "a pie cannot show the negative numbers in %q", cut(p.names[0])).WithHint("use the kind bar")
	case !byText:
		if err := p.place(xs, along); err != nil {
			return err
		}
	}
	p.tell()
	return nil
}

// label returns a text for an axis.
func label(text string) string {
	if text == "" {
		return "–"
	}
	return cutTo(escaped(text), longestText)
}

// height returns the i-th value as a number, and NaN for one that cannot be drawn.
func (c *Column) height(i int) float64 {
	const largest = 1e300 // the difference of two is still finite
	f := math.NaN()
	switch {
	case c.missing(i):
	case c.Type == Float:
		f = c.Floats[i]
	case c.Ints != nil:
		f = float64(c.Ints[i])
	}
	if math.Abs(f) > largest {
		return math.NaN()
	}
	return f
}
