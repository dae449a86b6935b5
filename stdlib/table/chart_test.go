package table

import (
	"bytes"
	"image/png"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// chartOf returns a chart in SVG, and its parts.
func chartOf(t *testing.T, of *Table, kind, x string, y ...value.Value) (svg string, parts value.List) {
	t.Helper()
	v, err := callRow(t, of, "chart", []value.Value{kind, x, value.List(y), "<Title>", "svg", int64(800), int64(500), true})
	if err != nil {
		t.Fatalf("%s: %v", kind, err)
	}
	list, _ := v.(*value.Dict).Get("parts")
	return v.(*value.Dict).Text("chart"), list.(value.List)
}

var (
	svgBar   = regexp.MustCompile(`<path d="M \d+ (\d+)\nL \d+ \d+\nL \d+ (\d+)\nL \d+ \d+\nL \d+ \d+" style="stroke:none;fill:rgb`)
	svgPoint = regexp.MustCompile(`<circle cx="(\d+)" cy="(\d+)"`)
	svgText  = regexp.MustCompile(`<text[^>]*>([^<]*)</text>`)
)

func numbersOf(found [][]string) (n []int) {
	for _, m := range found {
		for _, text := range m[1:] {
			i, _ := strconv.Atoi(text)
			n = append(n, i)
		}
	}
	return n
}

// Bars are as high as their numbers, from zero.
func TestChartBars(t *testing.T) {
	t.Parallel()
	of := tableOf("city", Text, []value.Value{"a", "b<&", nil, "d"}, "n", Integer, []value.Value{int64(100), int64(200), nil, int64(400)})
	for _, of := range []*Table{of, streamed(of, 1, false)} {
		svg, parts := chartOf(t, of, "bar", "city", "n")
		var heights []int
		for ends := range slices.Chunk(numbersOf(svgBar.FindAllStringSubmatch(svg, -1)), 2) {
			heights = append(heights, ends[1]-ends[0])
		}
		if len(heights) != 3 || heights[0] < 80 || math.Abs(float64(heights[1])-float64(heights[2])/2) > 2 || math.Abs(float64(heights[0])-float64(heights[2])/4) > 2 {
			t.Errorf("the heights of 100, 200 and 400 are %d", heights)
		}
		for _, text := range []string{"&lt;Title&gt;", "b&lt;&amp;", "–", "city"} {
			if !strings.Contains(svg, ">"+text+"</text>") {
				t.Errorf("the chart has no text %q", text)
			}
		}
		if got, want := value.FormatJSON(parts, ""), `[[{"city":"a","n":100},{"city":"b<&","n":200},{"city":"–","n":null},{"city":"d","n":400}]]`; got != want {
			t.Errorf("parts = %s, want %s", got, want)
		}
	}
}

// A line over times is in their order and at their distances, and a peak among many rows remains.
func TestChartLines(t *testing.T) {
	t.Parallel()
	months := tableOf("month", Date, []value.Value{"2024-03-01", "2024-01-01", "2024-02-01"}, "n", Float, []value.Value{3.0, 1.0, 2.0})
	svg, parts := chartOf(t, months, "line", "month", "n")
	if got := value.FormatJSON(parts, ""); !strings.Contains(got, `[{"month":"2024-01-01","n":1},{"month":"2024-02-01","n":2},{"month":"2024-03-01","n":3}]`) {
		t.Errorf("parts = %s", got)
	}
	if points := numbersOf(svgPoint.FindAllStringSubmatch(svg, -1)); len(points) != 6 || !(points[0] < points[2] && points[2] < points[4] && points[1] > points[3] && points[3] > points[5]) {
		t.Errorf("the points of 1, 2 and 3 are %d", points)
	}
	var xs, ys []value.Value
	for i := range 20_000 {
		xs, ys = append(xs, int64(i)), append(ys, float64(i%7))
	}
	ys[12_345], ys[12_400] = 1000.0, -1000.0
	_, parts = chartOf(t, tableOf("x", Integer, xs, "y", Float, ys), "line", "x", "y")
	if row := parts[0].(value.List)[0].(*value.Dict); row.Text("name") != "y" || number(row, "max") != 1000 || number(row, "min") != -1000 {
		t.Errorf("a long line = %s", value.FormatJSON(parts, ""))
	}
	gaps := tableOf("x", Integer, []value.Value{int64(0), int64(1), int64(10)}, "y", Float, []value.Value{0.0, 1.0, 10.0})
	_, parts = chartOf(t, gaps, "line", "x", "y")
	list, _ := parts[0].(value.List)[0].(*value.Dict).Get("line")
	if line := list.(value.List); len(line) != linePlaces || math.Abs(line[linePlaces/2].(float64)-5) > 0.1 {
		t.Errorf("the line over 0, 1 and 10 has %d places, and %v in the middle", len(line), line[len(line)/2])
	}
}

func number(d *value.Dict, name string) float64 { v, _ := d.Get(name); f, _ := v.(float64); return f }

func TestChartHistogram(t *testing.T) {
	t.Parallel()
	var list []value.Value
	for i := range 100 {
		list = append(list, float64(i%10))
	}
	svg, parts := chartOf(t, tableOf("n", Float, append(list, nil)), "histogram", "n")
	rows, sum := parts[0].(value.List), int64(0)
	for _, row := range rows {
		sum += row.(*value.Dict).Int("rows")
	}
	if len(rows) != 10 || sum != 100 || rows[0].(*value.Dict).Text("n") != "0 to 0.9" {
		t.Errorf("parts = %s", value.FormatJSON(parts, ""))
	}
	if texts := svgText.FindAllStringSubmatch(svg, -1); !slices.ContainsFunc(texts, func(m []string) bool { return m[1] == "0" }) {
		t.Error("the axis of a histogram does not begin at 0")
	}
}

// Every kind draws every number, in both formats.
func TestChartExtremes(t *testing.T) {
	t.Parallel()
	odd := []value.Value{0.0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), 1e308, -1e308, 1e-300, 5.0, nil}
	long := strings.Repeat("x\n\u202e\x00", 1000)
	tables := map[string]*Table{
		"odd":   tableOf("t", Text, []value.Value{"", long, "c", "d", "e", "f", "g", "h", "i", nil}, "x", Float, odd, "y", Float, odd),
		"equal": tableOf("t", Text, []value.Value{"a", "a"}, "x", Float, []value.Value{1.0, 1.5}, "y", Float, []value.Value{7.0, 7.0}),
		"one":   tableOf("t", Text, []value.Value{"a"}, "x", Float, []value.Value{1.0}, "y", Float, []value.Value{0.0}),
		"large": tableOf("t", Text, []value.Value{"a", "b"}, "x", Float, []value.Value{-9e299, 9e299}, "y", Float, []value.Value{9e299, -9e299}),
	}
	for name, of := range tables {
		for _, kind := range chartKinds() {
			for _, format := range []string{"png", "svg"} {
				args := []value.Value{kind, "x", value.List{"y"}, long, format, int64(100), int64(2000), true}
				switch kind {
				case "bar", "pie":
					args[1] = "t"
				case "histogram":
					args[1], args[2] = "y", value.List{}
				}
				v, err := callRow(t, of, "chart", args)
				if err != nil {
					if e := value.ErrorOf(err, value.Failed); e.Kind != value.Invalid || kind != "pie" && name != "odd" { // a negative sector, or a repeated x
						t.Errorf("%s of %s: %v", kind, name, err)
					}
					continue
				}
				if drawn, _ := v.(*value.Dict).Get("chart"); format == "png" {
					if size, err := png.DecodeConfig(bytes.NewReader(drawn.(value.Media).Data)); err != nil || size.Width != 100 || size.Height != 2000 {
						t.Errorf("%s of %s = %v, %v", kind, name, size, err)
					}
				} else if text := drawn.(string); !strings.HasSuffix(text, "</svg>") || strings.ContainsAny(text, "\x00\u202e") {
					t.Errorf("%s of %s is no SVG, or has invisible characters", kind, name)
				}
			}
		}
	}
}

func TestChartErrors(t *testing.T) {
	t.Parallel()
	var texts, numbers []value.Value
	for i := range 101 {
		texts, numbers = append(texts, "t"+strconv.Itoa(i)), append(numbers, float64(i))
	}
	many := tableOf("t", Text, texts, "n", Float, numbers)
	tests := []struct {
		of   *Table
		args []value.Value
		want string
	}{
		{sales(), []value.Value{"bars", "region", "amount"}, `unknown kind "bars"; did you mean "bar"?`},
		{sales(), []value.Value{"bar", "region"}, "argument 'y' is missing"},
		{sales(), []value.Value{"bar", "regoin", "amount"}, "no column"},
		{sales(), []value.Value{"bar", "region", "product"}, `the column "product" is text, not numbers`},
		{sales(), []value.Value{"scatter", "region", "amount"}, "needs numbers, dates or times"},
		{sales(), []value.Value{"histogram", "amount", "amount"}, "a histogram has no 'y'"},
		{sales(), []value.Value{"bar", "region", "amount", "", "gif"}, `unknown format "gif"`},
		{sales(), []value.Value{"bar", "region", "amount", "", "png", int64(50)}, "argument 'width' should be from 100 to 2000"},
		{many, []value.Value{"bar", "t", "n"}, "too many rows for a bar chart: the limit is 100"},
		{many, []value.Value{"pie", "t", "n"}, "too many rows for a pie chart: the limit is 30"},
		{tableOf("x", Integer, []value.Value{int64(1), int64(1)}, "y", Float, []value.Value{1.0, 2.0}), []value.Value{"line", "x", "y"}, `a line needs one row for each "x", and 1 has several`},
		{tableOf("x", Text, []value.Value{"a"}, "y", Float, []value.Value{nil}), []value.Value{"bar", "x", "y"}, "there is nothing to draw"},
		{tableOf("x", Text, []value.Value{"a"}, "y", Float, []value.Value{-1.0}), []value.Value{"pie", "x", "y"}, "a pie cannot show the negative numbers"},
		{tableOf("x", Integer, []value.Value{}, "y", Float, []value.Value{}), []value.Value{"line", "x", "y"}, "there is nothing to draw"},
	}
	for _, test := range tests {
		_, err := callRow(t, test.of, "chart", test.args)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("chart%v = %v, want %q", test.args[:2], err, test.want)
		}
	}
}
