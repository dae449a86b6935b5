package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/internal/testhost"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// sumUp is the measured tool: it describes a file and groups it.
const sumUp = `def sum_up(path: str) -> dict:
    """Describe a table, and sum up its regions.

    Args:
      path: The file.
    """
    t = data.read(path)
    regions = t.group_by("region").agg(n = "count", total = ("amount", "sum"), mean = ("price", "mean"))
    return {"summary": t.summary(), "regions": regions}

tool(sum_up, needs = ["fs.read"], timeout = 600, limits = {"cpu": 600})
`

// tableColumns are the columns of the file, with their types for SQLite.
var tableColumns = [][2]string{
	{"id", "INTEGER"}, {"region", "TEXT"}, {"product", "TEXT"}, {"customer", "TEXT"}, {"quantity", "INTEGER"},
	{"amount", "REAL"}, {"price", "REAL"}, {"day", "TEXT"}, {"active", "TEXT"}, {"score", "REAL"},
}

// writeTable writes a CSV file, the same each time: numbers, texts with few and with
// many distinct values, dates, bools, and a column with a tenth of its values missing.
// A million rows are 80 MB.
func writeTable(b *testing.B, name string, rows int) {
	b.Helper()
	f, err := os.Create(name)
	if err != nil {
		b.Fatal(err)
	}
	w := bufio.NewWriterSize(f, 1<<20)
	for i, c := range tableColumns {
		if i > 0 {
			w.WriteByte(',')
		}
		w.WriteString(c[0])
	}
	w.WriteByte('\n')
	r := rand.New(rand.NewPCG(1, 2))
	regions := []string{"north", "south", "east", "west", "north-east", "south-west", "centre", "overseas"}
	days := make([]string, 2000)
	for i := range days {
		days[i] = time.Date(2019, 1, 1+i, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
	}
	var line []byte
	for i := range rows {
		line = strconv.AppendInt(line[:0], int64(1_000_000+i), 10)
		line = append(append(append(line, ','), regions[r.IntN(len(regions))]...), ',')
		line = append(fmt.Appendf(line, "product %03d", r.IntN(200)), ',')
		line = append(fmt.Appendf(line, "customer-%06d-of-%02d", r.IntN(500_000), r.IntN(50)), ',')
		line = append(strconv.AppendInt(line, int64(r.IntN(100)), 10), ',')
		line = append(strconv.AppendFloat(line, math.Round(r.ExpFloat64()*1e4)/100, 'f', 2, 64), ',')
		line = append(strconv.AppendFloat(line, float64(r.IntN(50_000))/100, 'f', 2, 64), ',')
		line = append(append(line, days[r.IntN(len(days))]...), ',')
		line = append(strconv.AppendBool(line, r.IntN(3) > 0), ',')
		if r.IntN(10) > 0 {
			line = strconv.AppendFloat(line, r.NormFloat64(), 'f', 6, 64)
		}
		w.Write(append(line, '\n'))
	}
	if err := w.Flush(); err != nil {
		b.Fatal(err)
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
}

// sumUpProject is a project with the tool and a file.
func sumUpProject(b *testing.B, rows int) (dir, file string) {
	b.Helper()
	dir = b.TempDir()
	writeTool(b, dir, "sum_up.star", sumUp)
	file = filepath.Join(dir, "rows.csv")
	writeTable(b, file, rows)
	return dir, file
}

// sumUpTool does the work in a new worker.
func sumUpTool(b *testing.B, dir string, mode cassidy.Mode) *value.Dict {
	b.Helper()
	h, err := testhost.Open(b, testhost.On{Sandbox: mode}, dir, &cassidy.Options{TrustSource: true})
	if err != nil {
		b.Fatal(err)
	}
	defer h.Close()
	r, err := h.Call(context.Background(), tool.Call{Tool: "sum_up", Args: value.NewDict("path", "rows.csv")})
	if err != nil {
		b.Fatal(err)
	}
	return r.Value.(*value.Dict)
}

// sumUpPython is the same work with Python's own reader of CSV. With each quartile it
// returns the values within half a percent of the rank.
const sumUpPython = `
import csv, json, math, sys

def typed(cells):
    for kind in (int, float):
        try:
            return kind.__name__, [kind(c) for c in cells if c != ""]
        except ValueError:
            pass
    return "text", [c for c in cells if c != ""]

def quartile(ordered, p):
    rank = p * (len(ordered) - 1)
    i = int(rank)
    value = ordered[i] + (rank - i) * (ordered[min(i + 1, len(ordered) - 1)] - ordered[i])
    off = len(ordered) // 200 + 1
    return [value, ordered[max(i - off, 0)], ordered[min(i + 1 + off, len(ordered) - 1)]]

with open(sys.argv[1], newline="", encoding="utf-8") as f:
    rows = csv.reader(f)
    names = next(rows)
    columns = [[] for _ in names]
    for row in rows:
        for column, cell in zip(columns, row):
            column.append(cell)
out = {"columns": {}, "regions": {}}
values = {}
for name, cells in zip(names, columns):
    kind, v = typed(cells)
    values[name] = v
    facts = {"count": len(v), "missing": len(cells) - len(v), "distinct": len(set(v)), "min": min(v), "max": max(v)}
    if kind != "text":
        mean = sum(v) / len(v)
        ordered = sorted(v)
        facts.update(mean = mean, stdev = math.sqrt(sum((x - mean) ** 2 for x in v) / (len(v) - 1)),
            q1 = quartile(ordered, .25), median = quartile(ordered, .5), q3 = quartile(ordered, .75))
    out["columns"][name] = facts
groups = {}
for region, amount, price in zip(values["region"], values["amount"], values["price"]):
    g = groups.setdefault(region, [0, 0.0, 0.0])
    g[0] += 1
    g[1] += amount
    g[2] += price
for region, (n, total, price) in groups.items():
    out["regions"][region] = {"n": n, "total": total, "mean": price / n}
json.dump(out, sys.stdout)
`

// sumUpSQLite are the commands for SQLite's own shell: a summary of each column, and
// the quartiles of the numbers; then the regions. An index sorts a column once, which
// is three times as fast as no index.
func sumUpSQLite(file string, rows int, missing func(column string) int) string {
	var s strings.Builder
	var names []string
	for _, c := range tableColumns {
		names = append(names, c[0]+" "+c[1])
	}
	fmt.Fprintf(&s, "CREATE TABLE t (%s);\n.mode csv\n.import --skip 1 '%s' t\n.mode json\n", strings.Join(names, ", "), file)
	for _, c := range tableColumns {
		if c[1] != "TEXT" || c[0] == "customer" {
			fmt.Fprintf(&s, "CREATE INDEX by_%[1]s ON t (%[1]s);\n", c[0])
		}
		// An empty cell is a text to SQLite.
		fmt.Fprintf(&s, "SELECT count(%[1]s) AS '%[1]s count', count(DISTINCT %[1]s) AS '%[1]s distinct', min(%[1]s) AS '%[1]s min', max(%[1]s) AS '%[1]s max', avg(%[1]s) AS '%[1]s mean' "+
			"FROM t WHERE %[1]s <> '';\n", c[0])
		if c[1] == "TEXT" {
			continue
		}
		n := rows - missing(c[0])
		for i, q := range []string{"q1", "median", "q3"} {
			fmt.Fprintf(&s, "SELECT %[1]s AS '%[1]s %[2]s' FROM t WHERE %[1]s <> '' ORDER BY %[1]s LIMIT 1 OFFSET %[3]d;\n", c[0], q, (i+1)*(n-1)/4)
		}
	}
	s.WriteString("SELECT region, count(*) AS n, sum(amount) AS total, avg(price) AS mean FROM t GROUP BY region;\n")
	return s.String()
}

// A rival is the result of another program.
type rival struct {
	took    time.Duration
	columns map[string]any // by "column fact"
	regions map[string]map[string]any
}

// runPython returns Python's result, or nil without Python.
func runPython(b *testing.B, dir, file string) *rival {
	b.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		b.Log("NOT COMPARED with Python: there is no python3 here")
		return nil
	}
	script := filepath.Join(dir, "sum_up.py")
	if err := os.WriteFile(script, []byte(sumUpPython), 0o644); err != nil {
		b.Fatal(err)
	}
	start := time.Now()
	out, err := exec.Command("python3", script, file).Output()
	if err != nil {
		b.Fatal("python3:", err)
	}
	r := &rival{took: time.Since(start), columns: map[string]any{}}
	var said struct {
		Columns map[string]map[string]any
		Regions map[string]map[string]any
	}
	if err := json.Unmarshal(out, &said); err != nil {
		b.Fatal(err)
	}
	r.regions = said.Regions
	for name, facts := range said.Columns {
		for fact, v := range facts {
			r.columns[name+" "+fact] = v
		}
	}
	return r
}

// runSQLite returns the result of SQLite's shell, or nil without it.
func runSQLite(b *testing.B, file string, rows int, ours *value.Dict) *rival {
	b.Helper()
	if _, err := exec.LookPath("sqlite3"); err != nil {
		b.Log("NOT COMPARED with SQLite: there is no sqlite3 here")
		return nil
	}
	commands := sumUpSQLite(file, rows, func(column string) int {
		n, _ := factsOf(ours)[column+" missing"].(int64)
		return int(n)
	})
	start := time.Now()
	cmd := exec.Command("sqlite3", ":memory:")
	cmd.Stdin = strings.NewReader(commands)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		b.Fatal("sqlite3:", err)
	}
	r := &rival{took: time.Since(start), columns: map[string]any{}, regions: map[string]map[string]any{}}
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var lines []map[string]any
		if err := d.Decode(&lines); err != nil {
			b.Fatal(err)
		}
		for _, line := range lines {
			if region, ok := line["region"].(string); ok {
				r.regions[region] = line
				continue
			}
			for k, v := range line {
				r.columns[k] = v
			}
		}
	}
	return r
}

// factsOf converts our result to the form of a rival's.
func factsOf(ours *value.Dict) map[string]any {
	facts := map[string]any{}
	summary, _ := ours.Get("summary")
	items, _ := value.Elements(summary)
	for _, it := range items {
		d := it.(*value.Dict)
		for k, v := range d.All() {
			facts[d.Text("column")+" "+k.(string)] = v
		}
	}
	return facts
}

// agrees fails if a rival's result differs from ours: distinct values and quartiles may
// differ by the documented error of an estimate.
func (r *rival) agrees(b *testing.B, name string, ours *value.Dict) {
	b.Helper()
	facts := factsOf(ours)
	compared := 0
	for _, c := range tableColumns {
		for _, fact := range []string{"count", "missing", "distinct", "min", "max", "mean", "stdev", "q1", "median", "q3"} {
			got, want := facts[c[0]+" "+fact], r.columns[c[0]+" "+fact]
			if want == nil || c[1] == "TEXT" && fact == "mean" { // SQLite takes a text for 0
				continue
			}
			compared++
			estimated, _ := facts[c[0]+" estimated"].(bool)
			if !alike(fact, got, want, estimated) {
				b.Errorf("%s: %s is %v, and by %s %v", c[0], fact, got, name, want)
			}
		}
	}
	regions, _ := ours.Get("regions")
	items, _ := value.Elements(regions)
	if len(items) != len(r.regions) {
		b.Errorf("%d regions, and by %s %d", len(items), name, len(r.regions))
	}
	for _, it := range items {
		d := it.(*value.Dict)
		for _, fact := range []string{"n", "total", "mean"} {
			got, _ := d.Get(fact)
			compared++
			if want := r.regions[d.Text("region")][fact]; !alike(fact, got, want, false) {
				b.Errorf("%s: %s is %v, and by %s %v", d.Text("region"), fact, got, name, want)
			}
		}
	}
	if compared < 70 {
		b.Errorf("only %d numbers were compared with %s", compared, name)
	}
}

func alike(fact string, got, want any, estimated bool) bool {
	if between, ok := want.([]any); ok { // a quartile, and what lies around it
		value, low, high := number(between[0]), number(between[1]), number(between[2])
		return !estimated && near(number(got), value, 1e-9) || estimated && low <= number(got) && number(got) <= high
	}
	if b, ok := got.(bool); ok {
		return strconv.FormatBool(b) == want
	}
	text, isText := want.(string)
	switch {
	case isText:
		return got == text
	case fact == "distinct" && estimated:
		return near(number(got), number(want), 0.03) // three and more standard errors
	case strings.HasPrefix(fact, "q") || fact == "median":
		return near(number(got), number(want), 0.03) || math.Abs(number(got)-number(want)) < 0.02
	}
	return near(number(got), number(want), 1e-9)
}

func near(got, want, by float64) bool { return math.Abs(got-want) <= by*math.Abs(want) }

func number(v any) float64 {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case float64:
		return v
	}
	return math.NaN()
}

// BenchmarkTable describes and groups a million rows with a tool in a worker, with
// Python and with SQLite's shell. Python should take at least as long, better five
// times; we may take three times as long as SQLite.
func BenchmarkTable(b *testing.B) {
	const rows = 1_000_000
	dir, file := sumUpProject(b, rows)
	var ours, python, sqlite time.Duration
	rounds := 0
	for b.Loop() {
		start := time.Now()
		found := sumUpTool(b, dir, cassidy.Process)
		ours += time.Since(start)
		if r := runPython(b, dir, file); r != nil {
			r.agrees(b, "Python", found)
			python += r.took
		}
		if r := runSQLite(b, file, rows, found); r != nil {
			r.agrees(b, "SQLite", found)
			sqlite += r.took
		}
		rounds++
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(ours.Seconds()/float64(rounds), "ours-s")
	if python > 0 {
		b.ReportMetric(float64(python)/float64(ours), "python/ours")
		b.ReportMetric(float64(ours)/float64(python), "ours/python")
	}
	if sqlite > 0 {
		b.ReportMetric(float64(ours)/float64(sqlite), "ours/sqlite")
	}
}

// BenchmarkTableInline is the same in this process, to be profiled.
func BenchmarkTableInline(b *testing.B) {
	dir, _ := sumUpProject(b, 1_000_000)
	for b.Loop() {
		sumUpTool(b, dir, cassidy.Inline)
	}
}
