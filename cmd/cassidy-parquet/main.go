// Command cassidy-parquet writes rows of a Parquet file as JSON. cassidy starts it, confined, when a tool reads such a file;
// it is a module of its own, because the library is larger than all others of cassidy together.
//
//	cassidy-parquet FILE [FIRST [BYTES]]
//
// The output is one JSON object:
//
//	{"names", "types", "rows", "first", "count", "notes", "columns"}
//
// types are those of cassidy's tables: text, integer, float, bool, date (days since 1970), datetime and instant
// (microseconds since 1970) and any. columns has a list of values for each column, from row FIRST on, at most about BYTES
// bytes of them, and at least one row. count is how many rows that are. A float that JSON cannot represent is a text.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"
)

// defaultBytes is how many bytes of values are written, if nobody says so.
const defaultBytes = 4 << 20

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "cassidy-parquet: "+strings.ToValidUTF8(err.Error(), "\ufffd"))
		os.Exit(1)
	}
}

func run(args []string) (err error) {
	defer func() {
		if v := recover(); v != nil { // the library panics at some damaged files
			err = fmt.Errorf("the file is damaged: %v", v)
		}
	}()
	if len(args) == 0 || len(args) > 3 || strings.HasPrefix(args[0], "-") {
		return fmt.Errorf("usage: cassidy-parquet FILE [FIRST [BYTES]]")
	}
	numbers := []int64{0, defaultBytes}
	for i, arg := range args[1:] {
		if numbers[i], err = strconv.ParseInt(arg, 10, 64); err != nil || numbers[i] < 0 {
			return fmt.Errorf("%q is not a number of at least 0", arg)
		}
	}
	f, err := os.Open(args[0])
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	opened, err := parquet.OpenFile(f, info.Size(), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return fmt.Errorf("the file is damaged: %w", err)
	}
	t := newTable(opened)
	if err := t.read(numbers[0], numbers[1]); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(t)
}
