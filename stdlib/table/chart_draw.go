package table

import (
	"cmp"
	"math"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/go-analyze/charts"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// bin makes a bar for each interval of equal width of the numbers.
func (p *plot) bin(xs []float64) {
	xs = slices.DeleteFunc(xs, math.IsNaN)
	least, most, n := slices.Min(xs), slices.Max(xs), 1
	if most > least {
		n = min(maxBins, int(math.Ceil(math.Sqrt(float64(len(xs))))))
	}
	width, counts := (most-least)/float64(n), make([]float64, n)
	for _, x := range xs {
		counts[placeOf(x, least, width, n)]++
	}
	for i := range n {
		p.labels = append(p.labels, short(least+float64(i)*width)+" to "+short(least+float64(i+1)*width))
	}
	p.names, p.series = []string{"rows"}, [][]float64{counts}
}

// placeOf returns in which of n intervals a number is.
func placeOf(x, least, width float64, n int) int {
	if width == 0 {
		return 0
	}
	return min(int((x-least)/width), n-1)
}

// place puts the rows of a line or a scatter chart on an axis of numbers or times. A few at about equal distances, such as
// months, have a place each; otherwise the places divide the axis equally.
func (p *plot) place(xs []float64, along Type) error {
	rows := slices.DeleteFunc(upTo(len(xs)), func(i int) bool { return math.IsNaN(xs[i]) })
	if len(rows) == 0 {
		return value.Errorf(value.Invalid, "there is nothing to draw: no row has a value in %q that can be drawn", cut(p.x))
	}
	slices.SortStableFunc(rows, func(i, j int) int { return cmp.Compare(xs[i], xs[j]) })
	least, most := xs[rows[0]], xs[rows[len(rows)-1]]
	nearest, farthest := math.Inf(1), 0.0
	for i, at := range rows[1:] {
		gap := xs[at] - xs[rows[i]]
		if gap == 0 && p.kind == "line" {
			return value.Errorf(value.Invalid, "a line needs one row for each %q, and %s has several", cut(p.x), pointText(xs[at], along, 0)).
				WithHint("group the rows by %q before, or use the kind scatter", cut(p.x))
		}
		nearest, farthest = min(nearest, gap), max(farthest, gap)
	}
	const about = 1.25 // a month of 31 days and one of 28
	n := linePlaces
	if p.kind == "scatter" {
		n = scatterPlaces
	}
	if len(rows) <= n && farthest <= nearest*about {
		n = len(rows)
	}
	width := (most - least) / float64(max(n-1, 1))
	for i := range n {
		x := least + float64(i)*width
		if n == len(rows) {
			x = xs[rows[i]]
		}
		p.labels = append(p.labels, pointText(x, along, most-least))
	}
	for s, ys := range p.series {
		at := make([][]float64, n)
		for i, row := range rows {
			if y := ys[row]; !math.IsNaN(y) {
				k := i
				if n != len(rows) {
					k = placeOf(xs[row], least-width/2, width, n)
				}
				at[k] = append(at[k], y)
			}
		}
		if p.kind == "scatter" {
			p.points = append(p.points, thinned(at, ys, max(10, scatterLevels/len(p.names))))
			continue
		}
		p.series[s] = joined(at)
	}
	return nil
}

// joined returns a number for each place of a line, from the numbers at each place in the order of the rows. Of more
// numbers than places, each pair of places has the least and the greatest, so that a peak remains. A place between two
// numbers is on the line between them.
func joined(at [][]float64) []float64 {
	for i := 0; i+1 < len(at); i += 2 {
		if both := slices.Concat(at[i], at[i+1]); len(at[i]) > 1 || len(at[i+1]) > 1 {
			first, second := slices.Min(both), slices.Max(both)
			if slices.Index(both, first) > slices.Index(both, second) {
				first, second = second, first
			}
			at[i], at[i+1] = []float64{first}, []float64{second}
		}
	}
	line := make([]float64, len(at))
	last := -1
	for i, ys := range at {
		if line[i] = math.NaN(); len(ys) == 0 {
			continue
		}
		line[i] = ys[0]
		for j := last + 1; j < i && last >= 0; j++ {
			part := float64(j-last) / float64(i-last)
			line[j] = line[last]*(1-part) + line[i]*part
		}
		last = i
	}
	return line
}

// thinned returns the points at each place, at most one at each of some levels: nobody can tell more apart.
func thinned(at [][]float64, ys []float64, levels int) [][]float64 {
	known := slices.DeleteFunc(slices.Clone(ys), math.IsNaN)
	if len(known) == 0 {
		return at
	}
	least := slices.Min(known)
	width := (slices.Max(known) - least) / float64(levels)
	for i, list := range at {
		seen := make([]bool, levels)
		at[i] = slices.DeleteFunc(list, func(y float64) bool {
			level := placeOf(y, least, width, levels)
			drawn := seen[level]
			seen[level] = true
			return drawn
		})
	}
	return at
}

// pointText returns the text of a point on an axis of the given length.
func pointText(x float64, along Type, length float64) string {
	const day = 24 * float64(time.Hour/time.Microsecond)
	n := int64(math.Round(x))
	switch {
	case along == Integer:
		return short(math.Round(x))
	case !along.time():
		return short(x)
	case along == Date:
		return formatTime(Date, n)
	case length > 2*day:
		return time.UnixMicro(n).UTC().Format(time.DateOnly)
	case length > 0:
		return time.UnixMicro(n).UTC().Format("15:04:05")
	}
	return formatTime(along, n)
}

// tell sets the numbers of the chart, for people without an image.
func (p *plot) tell() {
	const most = 40
	if p.points != nil || len(p.labels) > most { // a line for each series
		rows := value.List{}
		for s, name := range p.names {
			ys := p.series[s]
			known := slices.DeleteFunc(slices.Clone(ys), math.IsNaN)
			if len(known) == 0 {
				continue
			}
			d := value.NewDict("name", label(name), "min", slices.Min(known), "max", slices.Max(known))
			if p.points == nil {
				d.Put("line", value.List(value.Map(ys, func(y float64) value.Value { return y })))
			}
			rows = append(rows, d)
		}
		p.parts = value.List{rows, "over " + label(p.x) + " from " + p.labels[0] + " to " + p.labels[len(p.labels)-1]}
		return
	}
	for s, name := range p.names {
		rows := value.List{}
		for i, text := range p.labels {
			var y value.Value = p.series[s][i]
			if math.IsNaN(p.series[s][i]) {
				y = nil
			} else if whole := int64(p.series[s][i]); float64(whole) == p.series[s][i] {
				y = whole
			}
			rows = append(rows, value.NewDict(label(p.x), text, label(name), y))
		}
		p.parts = append(p.parts, rows)
	}
}

// draw returns the chart as an image. A library that fails is an error of the chart.
func (p *plot) draw(o charts.PainterOptions, title string) (data []byte, err error) {
	defer func() {
		if v := recover(); v != nil {
			data, err = nil, value.Errorf(value.Failed, "the chart cannot be drawn: %v", v)
		}
	}()
	drawing := charts.NewPainter(o)
	for s := range p.series {
		for i, y := range p.series[s] {
			if math.IsNaN(y) {
				p.series[s][i] = charts.GetNullValue()
			}
		}
	}
	legend := charts.LegendOption{SeriesNames: value.Map(p.names, label), Show: charts.Ptr(len(p.names) > 1)}
	axis, heading := charts.CategoryAxisOption{Labels: p.labels, Title: label(p.x)}, charts.TitleOption{Text: title}
	switch p.kind {
	case "pie":
		opt := charts.NewPieChartOptionWithData(p.series[0])
		opt.Title, opt.Legend = heading, charts.LegendOption{SeriesNames: p.labels, Show: charts.Ptr(false)}
		err = drawing.PieChart(opt)
	case "line":
		opt := charts.NewLineChartOptionWithData(p.series)
		opt.Title, opt.Legend, opt.XAxis = heading, legend, axis
		err = drawing.LineChart(opt)
	case "scatter":
		opt := charts.NewScatterChartOptionWithSeries(charts.NewSeriesListScatterMultiValue(p.points))
		opt.Title, opt.Legend, opt.XAxis = heading, legend, axis
		err = drawing.ScatterChart(opt)
	default:
		opt := charts.NewBarChartOptionWithData(p.series)
		opt.Title, opt.Legend, opt.CategoryAxis = heading, legend, axis
		if opt.Horizontal = p.kind == "bar" && letters(p.labels)*8 > o.Width; opt.Horizontal { // from the bottom
			for _, ys := range p.series {
				slices.Reverse(ys)
			}
			slices.Reverse(p.labels)
		}
		if len(p.names) == 1 {
			opt.ValueAxis[0].Title = legend.SeriesNames[0]
		}
		if !slices.ContainsFunc(p.series, func(ys []float64) bool { return slices.ContainsFunc(ys, func(y float64) bool { return y < 0 }) }) {
			opt.ValueAxis[0].Min = charts.Ptr(0.0) // the library cuts off what all bars have
		}
		if p.kind == "histogram" {
			opt.BarMargin = charts.Ptr(0.0)
		}
		err = drawing.BarChart(opt)
	}
	if err != nil {
		return nil, value.Errorf(value.Failed, "the chart cannot be drawn: %w", err)
	}
	return drawing.Bytes()
}

// letters returns the length of all labels in characters.
func letters(labels []string) (n int) {
	for _, text := range labels {
		n += utf8.RuneCountInString(text)
	}
	return n
}
