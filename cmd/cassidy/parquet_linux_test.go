package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/internal/testutil"
	"github.com/cassidy-run/cassidy/internal/testworker"
)

// A tool reads a Parquet file with the program beside cassidy, which can open nothing else, and without the program says how
// to install it.
func TestParquet(t *testing.T) {
	t.Parallel()
	bin, dir := t.TempDir(), t.TempDir()
	cassidy := filepath.Join(bin, "cassidy")
	if err := testworker.Copy(cassidy, testutil.Build(t, "cmd/cassidy")); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) string {
		c := exec.Command(cassidy, append([]string{"--trust-once", "tool", "run"}, args...)...)
		c.Dir, c.Env = dir, append(os.Environ(), "CASSIDY_HOME="+filepath.Join(bin, "home"))
		out, _ := c.CombinedOutput()
		return string(out)
	}
	module := filepath.Join("..", "cassidy-parquet")
	library, err := exec.Command("go", "list", "-C", module, "-m", "-f", "{{.Dir}}", "github.com/parquet-go/parquet-go").Output()
	if err != nil {
		t.Skipf("SKIPPED: the library of cassidy-parquet is not there: %v", err)
	}
	large := "delta_byte_array.parquet" // in JSON it is larger than what a pipe holds
	if testutil.Soak() {
		large = "covid.snappy.parquet"
	}
	for from, to := range map[string]string{"alltypes_plain.parquet": "a.parquet", large: "b.parquet"} {
		data, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(library)), "testdata", from))
		if err != nil {
			t.Skipf("SKIPPED: %v", err)
		}
		if err := os.WriteFile(filepath.Join(dir, to), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	query := []string{"query_data", "filepath=a.parquet", "query=select id, string_col, timestamp_col from data order by id limit 2"}
	if got := run(query...); !strings.Contains(got, "need the program cassidy-parquet, which is not installed") || !strings.Contains(got, "go install ") {
		t.Errorf("without the program: %s", got)
	}
	parquet, err := testutil.Program("", "cmd/cassidy-parquet")
	if err != nil {
		t.Skipf("SKIPPED: cassidy-parquet cannot be built: %v", err)
	}
	if err := testworker.Copy(filepath.Join(bin, "cassidy-parquet"), parquet); err != nil {
		t.Fatal(err)
	}
	want := `     id  string_col  timestamp_col
integer  text        instant
      0  0           2009-01-01T00:00:00Z
      1  1           2009-01-01T00:01:00Z
2 rows × 3 columns
`
	if got := run(query...); got != want { // the timestamps are of the old type INT96
		t.Errorf("with the program:\n%swant:\n%s", got, want)
	}
	if got := run("query_data", "filepath=b.parquet", "query=select count(*) as n from data"); !strings.Contains(got, "1 row × 1 column") || strings.Contains(got, "\n  0\n") {
		t.Errorf("a large file: %s", got)
	}
	if err := os.WriteFile(filepath.Join(dir, "c.parquet"), []byte("PAR1 and no more"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := run("describe_data", "filepath=c.parquet"); !strings.Contains(got, "read c.parquet: the file is damaged: ") {
		t.Errorf("a damaged file: %s", got)
	}
}
