package table

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/internal/testutil"
)

var csvFolder = flag.String("csv", "", "the folder of the CSV files that TestAgainstPython compares; default: those of the cases beside the project")

// pythonRows prints the rows of a CSV file as JSON, as Python's own reader finds them.
const pythonRows = `
import csv, json, sys
csv.field_size_limit(1 << 30)
with open(sys.argv[1], encoding=sys.argv[2], newline="", errors="replace") as f:
    for row in csv.reader(f, delimiter=sys.argv[3], strict=False):
        if row:
            print(json.dumps([cell if cell.strip() else "" for cell in row])) # a cell of spaces is missing
`

// TestAgainstPython compares the texts of all cells of CSV files with what Python's csv reads with the same delimiter and
// encoding. It logs each file that differs, with the first difference: to list them, run
//
//	go test ./stdlib/table -run TestAgainstPython -v -args -csv FOLDER
//
// Files of the default folder differ only as listed.
func TestAgainstPython(t *testing.T) {
	testutil.SkipShort(t)
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed")
	}
	folder := *csvFolder
	known := map[string]string{ // of the cases: why both readers cannot agree
		"comment.csv": "the row has 3 cells", // Python returns rows of any length
		"long.csv":    "the row has 3 cells",
		"space.csv":   "the row has 3 cells",
		"trail.csv":   "row 2 has 3 cells, want 4", // trailing commas are left out
		"nul.csv":     "zero byte",
	}
	if folder == "" {
		folder = "../../../shared/cases/data"
	}
	var files []string
	for _, pattern := range []string{"*.csv", "*.tsv", "*/*.csv"} {
		found, _ := filepath.Glob(filepath.Join(folder, pattern))
		files = append(files, found...)
	}
	if len(files) == 0 {
		t.Skipf("there are no CSV files in %s", folder)
	}
	equal := 0
	for _, file := range files {
		why := differs(t, python, file)
		switch want, ok := known[filepath.Base(file)]; {
		case why == "":
			equal++
		case *csvFolder != "":
			t.Logf("%s: %s", filepath.Base(file), why)
		case !ok || !strings.Contains(why, want):
			t.Errorf("%s: %s", file, why)
		}
	}
	t.Logf("%d of %d files are equal", equal, len(files))
}

// differs returns the first difference of the readers at a file, or "".
func differs(t *testing.T, python, file string) string {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	// The first reading finds the dialect, and the second one takes each cell as it is.
	no, o := false, csvOptions()
	o.header, o.trim, o.skips, o.missing = &no, &no, true, []string{}
	first, err := csvBytes(data, o)
	if err != nil {
		return "refused: " + err.Error()
	}
	o.types = map[string]Type{}
	o.delimiter, o.encoding = dialectIn(first.notes)
	for i := range first.names {
		o.types[fmt.Sprintf("column_%d", i+1)] = Text
	}
	whole, err := csvBytes(data, o)
	if err != nil {
		return "refused: " + err.Error()
	}
	var ours [][]string
	err = whole.each(t.Context(), csvGrant(data), func(b *Batch) error {
		for i := range b.Rows {
			row := make([]string, len(b.Columns))
			for j, c := range b.Columns {
				row[j] = c.text(i)
			}
			ours = append(ours, row)
		}
		return nil
	})
	if err != nil {
		return "refused: " + err.Error()
	}
	encoding := o.encoding
	switch encoding {
	case "", utf8Encoding:
		encoding = "utf-8-sig"
	case utf16LEEncoding, utf16BEEncoding:
		encoding = "utf-16" // without its mark
	}
	delimiter := o.delimiter
	if delimiter == "" {
		delimiter = ","
	}
	var failed bytes.Buffer
	c := exec.Command(python, "-c", pythonRows, file, encoding, delimiter)
	c.Stderr = &failed
	out, err := c.Output()
	if err != nil {
		return "refused by Python: " + lastLine(failed.String())
	}
	var theirs [][]string
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 1<<30)
	for lines.Scan() {
		var row []string
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		theirs = append(theirs, row)
	}
	for i := range max(len(ours), len(theirs)) {
		switch {
		case i >= len(ours) || i >= len(theirs):
			return fmt.Sprintf("%d rows, want %d", len(ours), len(theirs))
		case len(ours[i]) != len(theirs[i]):
			return fmt.Sprintf("row %d has %d cells, want %d", i+1, len(ours[i]), len(theirs[i]))
		case !slices.Equal(ours[i], theirs[i]):
			return fmt.Sprintf("row %d is %.200q, want %.200q", i+1, apart(ours[i], theirs[i]), apart(theirs[i], ours[i]))
		}
	}
	return ""
}

// dialectIn returns the delimiter and the encoding that the notes of a table name.
func dialectIn(notes []string) (delimiter, encoding string) {
	for _, note := range notes {
		if rest, ok := strings.CutPrefix(note, "delimiter "); ok {
			delimiter = strings.Trim(strings.SplitN(rest, " (", 2)[0], `"`)
			delimiter = strings.ReplaceAll(delimiter, `\t`, "\t")
		}
		if rest, ok := strings.CutPrefix(note, "encoding "); ok {
			encoding, _, _ = strings.Cut(rest, " ")
		}
	}
	return delimiter, encoding
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// apart returns the cells of a row that differ from those of another.
func apart(row, other []string) (cells []string) {
	for i, cell := range row {
		if cell != other[i] {
			cells = append(cells, cell)
		}
	}
	return cells
}
