package table

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xuri/excelize/v2"
)

// The test files of excelize, written by several programs, must have the same cells as
// in excelize.
func TestXLSXFilesOfExcelize(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(moduleCache(), "github.com/xuri/excelize/v2@v2.11.0/test")
	files, _ := filepath.Glob(filepath.Join(dir, "*.xlsx"))
	if len(files) == 0 {
		t.Skipf("there are no files in %s", dir)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			theirs, theirErr := excelize.OpenReader(bytes.NewReader(content))
			if theirErr != nil {
				_, err := parseAs("xlsx", string(content), readOptions{})
				t.Logf("excelize: %v; here: %v", theirErr, err)
				if err == nil {
					t.Error("no error")
				}
				return
			}
			for _, sheet := range theirs.GetSheetList() {
				compareSheet(t, theirs, content, sheet)
			}
		})
	}
}

func moduleCache() string {
	if dir := os.Getenv("GOMODCACHE"); dir != "" {
		return dir
	}
	if dir := os.Getenv("GOPATH"); dir != "" {
		return filepath.Join(dir, "pkg/mod")
	}
	home, _ := os.UserHomeDir()
	return filepath.Join(home, "go/pkg/mod")
}

// compareSheet compares the cells as texts, except for dates, which excelize formats.
func compareSheet(t *testing.T, theirs *excelize.File, content []byte, sheet string) {
	rows, err := theirs.GetRows(sheet, excelize.Options{RawCellValue: true})
	if err != nil {
		t.Logf("%s: excelize: %v", sheet, err)
		return
	}
	tab, err := parseAs("xlsx", string(content), readOptions{sheet: sheet, header: yes(false)})
	if err != nil {
		t.Logf("%s: %v", sheet, err)
		for _, row := range rows {
			if strings.Join(row, "") != "" && !strings.Contains(err.Error(), "the formula") && !strings.Contains(err.Error(), "invalid number") {
				t.Errorf("%s: excelize has cells, but here: %v", sheet, err)
				return
			}
		}
		return
	}
	var want, got []string
	for _, row := range rows {
		for _, s := range row {
			if s != "" && s != "#N/A" {
				want = append(want, s)
			}
		}
	}
	for i := range tab.held.Rows {
		for _, c := range tab.held.Columns {
			if v := c.value(i); v != nil && v != "" {
				got = append(got, strings.TrimSuffix(c.text(i), ".0"))
			}
		}
	}
	if len(got) != len(want) {
		t.Errorf("%s: %d cells, want %d", sheet, len(got), len(want))
		return
	}
	differ := 0
	for i, w := range want {
		g := got[i]
		a, ok1 := parseFloat(g)
		b, ok2 := parseFloat(w)
		if g != w && !(ok1 && ok2 && a == b) {
			if differ++; differ <= 3 {
				t.Logf("%s: value %d is %q, excelize has %q", sheet, i, g, w)
			}
			_, isDate := parseDate(g)
			_, _, isTime := parseDateTime(g)
			if !isDate && !isTime && !strings.Contains(g, ":") && g != "true" && g != "false" {
				t.Errorf("%s: value %d is %q, excelize has %q", sheet, i, g, w)
			}
		}
	}
	t.Logf("%s: %d cells compared, %d of them dates or bools", sheet, len(want), differ)
}
