package table

import (
	"context"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func TestWriteCSVRefusesNUL(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		table *Table
		want  string
	}{
		{tableOf("a", Integer, []value.Value{1, 2}, "b", Text, []value.Value{"x", "y\x00z"}), `row 2, column "b": the text contains a NUL character`},
		{tableOf("b", Any, []value.Value{int64(1), "\x00"}), `row 2, column "b": the text contains a NUL character`},
		{tableOf("a\x00", Text, []value.Value{"x"}), `the name of column 1 contains a NUL character`},
	} {
		got, err := writeCSV(context.Background(), tool.Grant{}, test.table, ",", true)
		if e := value.ErrorOf(err, value.Failed); err == nil || e.Kind != value.Invalid || !strings.HasPrefix(e.Message(), test.want) || e.Hint == "" {
			t.Errorf("to_csv(%v) = %v, %v, want %s", test.table.names, got, err, test.want)
		}
	}
	rows := make([]value.Value, batchRows+7)
	for i := range rows {
		rows[i] = "x"
	}
	rows[batchRows+5] = "\x00"
	if _, err := writeCSV(context.Background(), tool.Grant{}, tableOf("a", Text, rows), ",", true); err == nil || !strings.HasPrefix(err.Error(), "row 4102,") {
		t.Errorf("in the second batch: %v", err)
	}
}

// TestMessages checks messages with counts and suggestions.
func TestMessages(t *testing.T) {
	t.Parallel()
	u := tableOf("a", Integer, []value.Value{1})
	_, cross := method(u, "join", u, "a", named{"how": "cross"})
	_, avg := callRow(t, u, "agg", nil, "n", pair("a", "avg"))
	_, quote := csvBytes([]byte("a,b\n1,2\n"), &readOptions{quote: ",", decimal: "."})
	_, row := u.At(context.Background(), tool.Grant{}, int64(5))
	for name, test := range map[string]struct {
		err        error
		want, hint string
	}{
		"cross":   {cross, `unknown join "cross"`, "add_column"},
		"avg":     {avg, `unknown function "avg"; did you mean "mean"?`, "the functions are"},
		"quote":   {quote, "argument 'quote' should be empty or one character other than a line break or the delimiter", "none"},
		"row":     {row, "no row 5: the table has 1 row", ""},
		"seconds": {errQueryTime(1), "the query took longer than 1 second", "timeout"},
	} {
		if e := value.ErrorOf(test.err, value.Failed); test.err == nil || !strings.HasPrefix(e.Message(), test.want) || !strings.Contains(e.Hint, test.hint) {
			t.Errorf("%s: %v (hint %q), want %s (hint %q)", name, test.err, e.Hint, test.want, test.hint)
		}
	}
	f := Module().Funcs
	for _, text := range []value.Value{"a\n1\n", "[1]", book("", nil)} {
		args, err := f[1].Bind([]value.Value{text}, value.NewDict("encoding", "klingon"))
		if err != nil {
			t.Fatal(err)
		}
		_, err = f[1].Do(context.Background(), tool.Effect{Args: args}, tool.Grant{})
		if e := value.ErrorOf(err, value.Failed); err == nil || e.Kind != value.Invalid || !strings.HasPrefix(e.Message(), `unknown encoding "klingon"`) {
			t.Errorf("parse(%.9q, encoding = \"klingon\"): %v, want an error", text, err)
		}
	}
	short := csvOptions()
	short.fill, short.skip = true, 1
	filled, err := csvBytes([]byte("title\na,b\n1\n"), short)
	if want := "1 line skipped; 1 row was short, the first on line 3: filled with missing values"; err != nil || strings.Join(filled.notes, "; ") != want {
		t.Errorf("notes = %q, %v, want %q", filled.notes, err, want)
	}
}
