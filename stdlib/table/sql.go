package table

import (
	"strings"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// The wall time of a query in seconds: what it has where nobody says, and at most.
const (
	queryTime    = 10
	maxQueryTime = 60
)

func sqlRows() []row {
	e := newSQLEngine()
	return []row{{tool.Func{
		Name: "sql",
		Doc: "Asks one SQL query (SQLite) of tables and gives its rows as a table. " +
			"It begins with SELECT, WITH, VALUES or EXPLAIN, and can change nothing. The tables are known to it by the names that they are given here, " +
			"quoted as in \"total price\" where a name is not a plain word; upper and lower case are the same. " +
			"A missing value is NULL, and so is NaN. A bool is 0 or 1; a date, datetime or instant is a text as it is written in a CSV file; lists and objects are JSON text. " +
			"A column that is taken over as it is keeps its type; of an expression, whole numbers give integer, other numbers float, text text, and several kinds any. " +
			"A second column of the same name gets a number behind it, as name_2. Nothing is kept from one call to the next. " +
			"The same query of the same tables gives the same: one that asks for the current time (current_date, current_time, current_timestamp, date('now'), date() and their like) " +
			"or for random numbers (random, randomblob) is an error; give such a value in params. " +
			"A query that takes long needs more than its timeout: a tool has 2 seconds of computing unless it declares more, as in limits = {\"cpu\": 10}.",
		Params: []tool.Param{
			tool.Required("query", tool.TypeString, "One query, as in `select city, count(*) as n from people group by city`. A value goes into params, and ? or :name into its place."),
			tool.Required("tables", tool.TypeObject, `The tables by their names, as in {"people": t}.`),
			tool.Maybe("params", tool.TypeAny, "The values for ? as a list, or for :name, @name and $name as a dict. They are bound, and never read as SQL."),
			tool.Optional("timeout", tool.TypeNumber, int64(queryTime), "How many seconds the query may take, at most 60."),
		},
		Returns: "a table",
	}, e.query}}
}

// query is the row data.sql.
func (e *sqlEngine) query(c *call) (value.Value, error) {
	text, _ := c.value("query").(string)
	statement, err := readStatement(text)
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

// A sqlSource is a table that a query can ask.
type sqlSource struct {
	name  string
	table *Table
	named bool   // the query names it
	used  []bool // which columns the query names
	scans int    // how often its rows were read from the start
	real  bool   // it was copied into a table of the database
}

// sqlTables reads the argument: each name stands for one table.
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
				WithHint("data.read and data.parse give tables")
		}
		if err := checkSQLNames(name, t); err != nil {
			return nil, err
		}
		names = append(names, name)
		sources = append(sources, &sqlSource{name: name, table: t, used: make([]bool, len(t.names))})
	}
	if a, b, ok := caseClash(names); ok {
		return nil, value.Errorf(value.Invalid, "the tables %q and %q have the same name in SQL, where upper and lower case are the same", a, b).
			WithHint("give one of them another name")
	}
	return sources, nil
}

// checkSQLNames says why a table cannot be one of SQL.
func checkSQLNames(name string, t *Table) error {
	lower := asciiLower(name)
	switch {
	case name == "" || len(name) > maxSQLName || strings.ContainsRune(name, 0):
		return value.Errorf(value.Invalid, "%q cannot be the name of a table in SQL", cut(name)).WithHint("give it a short name")
	case strings.HasPrefix(lower, "sqlite_"):
		return value.Errorf(value.Invalid, "the name %q cannot be used: SQLite keeps those with sqlite_ for itself", cut(name)).WithHint("give the table another name")
	case len(t.names) == 0:
		return value.Errorf(value.Invalid, "the table %q has no columns, and SQL knows none without", cut(name)).WithHint("leave it out")
	case len(t.names) > maxSQLColumns:
		return value.Errorf(value.Invalid, "the table %q has %d columns, and SQL takes at most %d", cut(name), len(t.names), maxSQLColumns).
			WithHint("take the columns that matter with select")
	}
	for _, column := range t.names {
		if strings.ContainsRune(column, 0) {
			return value.Errorf(value.Invalid, "the table %q has a column %q, whose name SQL cannot read", cut(name), cut(column)).WithHint("rename it")
		}
	}
	if a, b, ok := caseClash(t.names); ok {
		return value.Errorf(value.Invalid, "the columns %q and %q of the table %q have the same name in SQL, where upper and lower case are the same",
			cut(a), cut(b), cut(name)).WithHint("rename one of them")
	}
	return nil
}

// caseClash returns two names that differ in case at most.
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

// asciiLower is what SQLite compares names by.
func asciiLower(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

// quoteSQL writes a name so that SQL reads it as a name, whatever it is.
func quoteSQL(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
