package examples_test

import (
	"encoding/csv"
	"math"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestColumnStats computes the statistics again, with other formulas.
func TestColumnStats(t *testing.T) {
	t.Parallel()
	_, h := project(t)
	header, rows := measurements(t)
	year := column(t, rows, 0)
	want := map[string]any{}
	for i, name := range header {
		values := column(t, rows, i)
		want[name] = statistics(values)
		if name == "co2_ppm" {
			slope, r2 := line(year, values)
			want[name].(map[string]any)["slope"] = six(slope)
			want[name].(map[string]any)["r_squared"] = six(r2)
		}
	}
	got := call(t, h, "column_stats", value.NewDict("path", "data/co2.csv", "columns", value.List{"year", "co2_ppm"}, "over", "year"))
	delete(want, "uncertainty_ppm") // constant: no line fits it better than another
	if diff := cmp.Diff(map[string]any{"rows": 66.0, "columns": want}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestDecades groups the measurements once more.
func TestDecades(t *testing.T) {
	t.Parallel()
	_, h := project(t)
	_, rows := measurements(t)
	years, ppm := column(t, rows, 0), column(t, rows, 1)
	var want []any
	for at := 0; at < len(years); {
		decade, from, sum := math.Floor(years[at]/10)*10, at, 0.0
		for ; at < len(years) && years[at] < decade+10; at++ {
			sum += ppm[at]
		}
		first, last, n := ppm[from], ppm[at-1], float64(at-from)
		want = append(want, map[string]any{
			"decade": decade, "years": n, "first": first, "mean": math.Round(sum/n*100) / 100,
			"last": last, "rise": math.Round((last-first)*100) / 100,
		})
	}
	if diff := cmp.Diff(want, call(t, h, "decades", nil)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDecadesOfOddTables(t *testing.T) {
	t.Parallel()
	dir, h := project(t)
	write(t, dir, "data/odd.csv", "year,n\n1999,1\n2001,\n2000,3.5\n,9\n1999,2\n")
	checkJSON(t, call(t, h, "decades", value.NewDict("path", "data/odd.csv", "column", "n")), `[
		{"decade": 1990, "years": 2, "first": 1, "mean": 1.5, "last": 2, "rise": 1},
		{"decade": 2000, "years": 1, "first": 3.5, "mean": 3.5, "last": 3.5, "rise": 0}]`)
}

// measurements reads co2.csv, without the tested code.
func measurements(t *testing.T) (header []string, rows [][]string) {
	t.Helper()
	file, err := os.Open("quickstart/data/co2.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	records, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	header, rows = records[0], records[1:]
	if len(rows) != 66 || rows[0][0] != "1959" || rows[65][0] != "2024" {
		t.Fatalf("co2.csv has %d rows from %v to %v, want the years 1959 to 2024", len(rows), rows[0], rows[len(rows)-1])
	}
	return header, rows
}

func column(t *testing.T, rows [][]string, i int) []float64 {
	t.Helper()
	var values []float64
	for _, row := range rows {
		x, err := strconv.ParseFloat(row[i], 64)
		if err != nil {
			t.Fatal(err)
		}
		values = append(values, x)
	}
	return values
}

func statistics(values []float64) map[string]any {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	sum, squares := 0.0, 0.0
	for _, x := range values {
		sum += x
	}
	for _, x := range values {
		squares += (x - sum/float64(n)) * (x - sum/float64(n))
	}
	return map[string]any{
		"count": float64(n), "missing": 0.0, "min": sorted[0], "max": sorted[n-1],
		"mean": six(sum / float64(n)), "median": six((sorted[(n-1)/2] + sorted[n/2]) / 2),
		"stdev": six(math.Sqrt(squares / float64(n-1))),
	}
}

// line fits a line by the normal equations.
func line(xs, ys []float64) (slope, r2 float64) {
	var n, x, y, xx, yy, xy float64
	for i := range xs {
		dx, dy := xs[i]-1991, ys[i]-360 // near the means, so that little cancels
		n, x, y = n+1, x+dx, y+dy
		xx, yy, xy = xx+dx*dx, yy+dy*dy, xy+dx*dy
	}
	r := (n*xy - x*y) / math.Sqrt((n*xx-x*x)*(n*yy-y*y))
	return (n*xy - x*y) / (n*xx - x*x), r * r
}

// six rounds to six significant digits.
func six(x float64) float64 {
	short, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 6, 64), 64)
	return short
}

func TestColumnStatsOfOddTables(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, csv, over, want string }{
		{"text", "a\nx\ny\nx\n", "", `{"rows": 3, "columns": {"a": {"count": 3, "missing": 0, "distinct": 2}}}`},
		{"one row", "a\n-2.5\n", "", `{"rows": 1, "columns": {"a": {"count": 1, "missing": 0, "min": -2.5, "max": -2.5, "mean": -2.5, "median": -2.5, "stdev": null}}}`},
		{"empty cells", "a,b\n,1\n,2\n", "", `{"rows": 2, "columns": {
			"a": {"count": 0, "missing": 2, "distinct": 0},
			"b": {"count": 2, "missing": 0, "min": 1, "max": 2, "mean": 1.5, "median": 1.5, "stdev": 0.707107}}}`},
		{"numbers and n/a", "a\n1\nn/a\n", "", `{"rows": 2, "columns": {"a": {"count": 1, "missing": 1, "min": 1, "max": 1, "mean": 1, "median": 1, "stdev": null}}}`},
		{"numbers and text", "a\n1\nnone\n", "", `{"rows": 2, "columns": {"a": {"count": 2, "missing": 0, "distinct": 2}}}`},
		{"a vertical line", "a,b\n1,2\n1,3\n", "a", `{"rows": 2, "columns": {
			"a": {"count": 2, "missing": 0, "min": 1, "max": 1, "mean": 1, "median": 1, "stdev": 0},
			"b": {"count": 2, "missing": 0, "min": 2, "max": 3, "mean": 2.5, "median": 2.5, "stdev": 0.707107, "slope": null, "r_squared": null}}}`},
		{"over text", "a,b\nx,2\ny,3\n", "a", `{"rows": 2, "columns": {
			"a": {"count": 2, "missing": 0, "distinct": 2},
			"b": {"count": 2, "missing": 0, "min": 2, "max": 3, "mean": 2.5, "median": 2.5, "stdev": 0.707107, "slope": null, "r_squared": null}}}`},
		{"small and large", "a,b\n0,1e-9\n1,3e-9\n2,5e-9\n", "a", `{"rows": 3, "columns": {
			"a": {"count": 3, "missing": 0, "min": 0, "max": 2, "mean": 1, "median": 1, "stdev": 1},
			"b": {"count": 3, "missing": 0, "min": 1e-9, "max": 5e-9, "mean": 3e-9, "median": 3e-9, "stdev": 2e-9, "slope": 2e-9, "r_squared": 1}}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir, h := project(t)
			write(t, dir, "data/odd.csv", tt.csv)
			args := value.NewDict("path", "data/odd.csv")
			if tt.over != "" {
				args.Put("over", tt.over)
			}
			checkJSON(t, call(t, h, "column_stats", args), tt.want)
		})
	}
}
