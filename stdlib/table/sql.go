package table

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// The default and the maximum wall time of a query in seconds.
const (
	queryTime    = 10
	maxQueryTime = 60
)

func sqlRows(e *sqlEngine) []member {
	return []member{{tool.Func{
		Name: "sql",
		Doc: "Run a SQL query (SQLite) on tables, and return the rows as a table. These rules apply:\n\n" +
			"- The query begins with SELECT, WITH, VALUES or EXPLAIN, and cannot change anything.\n" +
			"- The keys of the second argument are the names of the tables. Names are case-insensitive; of columns that differ only in case, the later ones get a number, as in Name_2, and the notes say which. In the query, use double quotes around a name that is not a plain word, as in \"total price\".\n" +
			"- A missing value is NULL. NaN is NULL too.\n" +
			"- A bool is 0 or 1, and equal to 'true' or 'false'. A date, datetime or instant is a text as in 2024-03-10T13:00:00; its column is compared as time, so that '2024-03-10 13:00:00' is the same, and a date is its midnight. A time without a zone is in UTC. Lists and objects are JSON text.\n" +
			"- A selected column keeps its type. The type of an expression is inferred: integer, float, text, or any for mixed values.\n" +
			"- Beside those of SQLite, there are the aggregates median(x), percentile(x, p) with p from 0 to 100, stddev(x) and variance(x) (of a sample), as in t.agg, and `x REGEXP 'pattern'` (RE2). LIKE, NOCASE, upper and lower know the letters of all languages.\n" +
			"- A repeated column name gets a number, as in name_2.\n" +
			"- A query cannot use tables or data of earlier calls.\n" +
			"- A query cannot use the current time, as in current_date and date('now'). It cannot use random numbers, as in random and randomblob. Pass such values in params.\n\n" +
			"By default, a tool has 2 seconds of CPU time. For a long query, declare more, as in limits = {\"cpu\": 10}, and pass timeout.",
		Params: []tool.Param{
			tool.Required("query", tool.TypeString, "One query, as in `select city, count(*) as n from people group by city`. For a value, write ? or :name, and pass the value in params."),
			tool.Required("tables", tool.TypeObject, `The tables by name, as in {"people": t}.`),
			tool.Maybe("params", tool.TypeAny, "The values: a list for ?, or a dict for :name, @name and $name. Values are never read as SQL."),
			tool.Optional("timeout", tool.TypeNumber, int64(queryTime), "The maximum time of the query in seconds, at most 60."),
		},
		Returns: "a table",
	}, e.query}}
}

// query is the implementation of data.sql.
func (e *sqlEngine) query(c *call) (value.Value, error) {
	text, _ := c.value("query").(string)
	statement, err := parseStatement(text)
	if err != nil {
		return nil, err
	}
	sources, err := sqlTables(c.value("tables"))
	if err != nil {
		return nil, err
	}
	params, err := statement.bind(c.value("params"))
	if err != nil {
		return nil, err
	}
	seconds, err := queryTimeout(c.value("timeout"))
	if err != nil {
		return nil, err
	}
	q := &sqlQuery{statement: statement, sources: sources, params: params, grant: c.grant}
	clock := startClock(c.ctx, seconds)
	defer clock.stop()
	return q.run(clock.ctx, e)
}

func queryTimeout(v value.Value) (float64, error) {
	seconds := float64(queryTime)
	switch v := v.(type) {
	case int64:
		seconds = float64(v)
	case float64:
		seconds = v
	}
	if !(seconds > 0 && seconds <= maxQueryTime) {
		return 0, value.Errorf(value.Invalid, "argument 'timeout' should be more than 0 and at most %d seconds", maxQueryTime)
	}
	return seconds, nil
}

// A sqlSource is a table that a query can read.
type sqlSource struct {
	name  string
	table *Table
	names []string // of the columns in SQL
	named bool     // the query names it
	used  []bool   // which columns the query names
	scans int      // how often it was read from the start
	real  bool     // it was copied into a table of the database
}

// sqlTables returns the tables in the argument, by name.
func sqlTables(v value.Value) ([]*sqlSource, error) {
	d, ok := v.(*value.Dict)
	if !ok {
		return nil, value.Errorf(value.Invalid, "argument 'tables' should be a dict of tables but got %s", value.TypeOf(v)).
			WithHint(`name each table, as in {"people": t}`)
	}
	var sources []*sqlSource
	var names []string
	for k, v := range d.All() {
		name, _ := k.(string)
		t, ok := v.(*Table)
		if !ok {
			return nil, value.Errorf(value.Invalid, "argument 'tables': %q should be table but got %s", cut(name), value.TypeOf(v)).
				WithHint("in a script, pass a table from data.read or data.parse")
		}
		if err := checkSQLNames(name, t); err != nil {
			return nil, err
		}
		names = append(names, name)
		sources = append(sources, &sqlSource{name: name, table: t, names: sqlNames(t.names), used: make([]bool, len(t.names))})
	}
	if a, b, ok := caseClash(names); ok {
		return nil, value.Errorf(value.Invalid, "the tables %q and %q have the same name: SQL names are case-insensitive", a, b).
			WithHint("rename one of the two")
	}
	return sources, nil
}

// checkSQLNames returns an error if the table cannot be used in SQL.
func checkSQLNames(name string, t *Table) error {
	lower := asciiLower(name)
	switch {
	case name == "" || len(name) > maxSQLName || strings.ContainsRune(name, 0):
		return value.Errorf(value.Invalid, "invalid name of a table in SQL: %q", cut(name)).WithHint("use a short name with letters and digits")
	case strings.HasPrefix(lower, "sqlite_"):
		return value.Errorf(value.Invalid, "invalid name of a table: %q: names with sqlite_ at the beginning are reserved", cut(name)).WithHint(`choose another name for the table; in a script, as in tables = {"t": table}`)
	case len(t.names) == 0:
		return value.Errorf(value.Invalid, "the table %q has no columns: SQL needs at least one", cut(name)).WithHint("omit the table")
	case len(t.names) > maxSQLColumns:
		return value.Errorf(value.Invalid, "the table %q has %d columns: the limit of SQL is %d", cut(name), len(t.names), maxSQLColumns).
			WithHint("choose fewer columns with select")
	}
	for _, column := range t.names {
		if strings.ContainsRune(column, 0) {
			return value.Errorf(value.Invalid, "the table %q has a column with an invalid name for SQL: %q", cut(name), cut(column)).WithHint("rename the column")
		}
	}
	return nil
}

// sqlNames returns the names of columns in SQL, which does not distinguish case: a name
// that is repeated apart from case gets a number.
func sqlNames(names []string) []string {
	if _, _, clash := caseClash(names); !clash {
		return names
	}
	unique, taken, seen := slices.Clone(names), map[string]bool{}, map[string]bool{}
	for _, name := range names {
		taken[asciiLower(name)] = true
	}
	for i, name := range names {
		if lower := asciiLower(name); seen[lower] {
			number, _ := unusedName(taken, lower+"_", 2)
			unique[i] = name + number[len(lower):]
		} else {
			seen[lower] = true
		}
	}
	return unique
}

// renamed returns the notes about the columns with another name in SQL that the query
// may have meant.
func (s *sqlSource) renamed() (notes []string) {
	for i, name := range s.table.names {
		if s.names[i] == name {
			continue
		}
		same := func(other string) bool { return asciiLower(other) == asciiLower(name) }
		if s.used[i] || s.used[slices.IndexFunc(s.table.names, same)] {
			notes = append(notes, fmt.Sprintf("SQL does not distinguish upper and lower case: the column %s of the table %s is %s", quoteCut(name), quoteCut(s.name), cut(s.names[i])))
		}
	}
	return notes
}

// caseClash returns two names that are equal apart from case.
func caseClash(names []string) (a, b string, clash bool) {
	seen := map[string]string{}
	for _, name := range names {
		lower := asciiLower(name)
		if other, ok := seen[lower]; ok {
			return other, name, true
		}
		seen[lower] = name
	}
	return "", "", false
}

// asciiLower returns the form of a name that SQLite compares.
func asciiLower(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

// quoteSQL quotes a name for SQL.
func quoteSQL(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
