// Guard runs the benchmarks whose results do not depend on the speed of the machine, and fails if one is
// worse than in bench/baseline.json: a ratio to something measured in the same run by more than 20 % in
// three tries, or a counter at all.
//
//	go run ./bench/guard                compares, which make bench does
//	go run ./bench/guard -run 'MCP'     compares the benchmarks that a regular expression matches
//	go run ./bench/guard -update        writes bench/baseline.json and bench/RESULTS.md; -run selects here too
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// tries is how often a benchmark runs before its best result counts as worse.
const tries = 3

// tolerance is how much worse a ratio may be.
const tolerance = 1.2

const (
	baselineFile = "bench/baseline.json"
	resultsFile  = "bench/RESULTS.md"
)

func main() {
	update := flag.Bool("update", false, "write "+baselineFile+" and "+resultsFile)
	only := flag.String("run", "", "a regular expression that selects benchmarks by their names")
	flag.Parse()
	if err := guard(*update, *only); err != nil {
		fmt.Fprintln(os.Stderr, "guard:", err)
		os.Exit(1)
	}
}

func guard(update bool, only string) error {
	selected, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	baseline := map[string]float64{}
	text, err := os.ReadFile(baselineFile)
	if err == nil {
		err = json.Unmarshal(text, &baseline)
	}
	if err != nil && !(update && errors.Is(err, fs.ErrNotExist)) {
		return err
	}
	dir, err := os.MkdirTemp("", "guard")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var worse []string
	measured := map[string]float64{}
	for _, b := range benchmarks {
		if !selected.MatchString(b.name) {
			continue
		}
		results, err := b.measure(dir, baseline, update)
		if err != nil {
			return err
		}
		for _, m := range b.metrics {
			key := b.name + " " + m.unit
			got, ok := results[m.unit]
			if !ok {
				fmt.Printf("SKIPPED: %s: %s was not measured: is what it is compared with installed?\n", key, m.what)
				continue
			}
			measured[key] = got
			note := ""
			if was, known := baseline[key]; known && !update && m.isWorse(got, was) {
				note = fmt.Sprintf("WORSE than %s", number(was))
				worse = append(worse, key)
			} else if m.goal > 0 && got > m.goal {
				note = "falls short of " + number(m.goal)
			}
			fmt.Printf("%-32s %10s  %-60s %s\n", key, number(got), m.what, note)
		}
	}
	if update {
		return write(baseline, measured)
	}
	if len(worse) > 0 {
		return fmt.Errorf("worse than %s in each of %d tries: %s", baselineFile, tries, strings.Join(worse, ", "))
	}
	return nil
}

// measure runs a benchmark and returns the best of its results: of one try if none is worse than the
// baseline, and otherwise of at most three. For an update, it returns the medians of three.
func (b *benchmark) measure(dir string, baseline map[string]float64, update bool) (map[string]float64, error) {
	all := map[string][]float64{}
	for range tries {
		results, err := b.run(dir)
		if err != nil {
			return nil, err
		}
		for unit, v := range results {
			all[unit] = append(all[unit], v)
		}
		worse := func(m metric) bool {
			was, ok := baseline[b.name+" "+m.unit]
			return ok && len(all[m.unit]) > 0 && m.isWorse(slices.Min(all[m.unit]), was)
		}
		if !update && !slices.ContainsFunc(b.metrics, worse) {
			break
		}
	}
	best := map[string]float64{}
	for unit, values := range all {
		slices.Sort(values)
		if best[unit] = values[0]; update {
			best[unit] = values[len(values)/2]
		}
	}
	return best, nil
}

// run runs a benchmark once, and returns what it reports by units.
func (b *benchmark) run(dir string) (map[string]float64, error) {
	program := filepath.Join(dir, strings.ReplaceAll(b.pkg, "/", "_")+".test")
	if _, err := os.Stat(program); err != nil {
		if _, err := command(".", "go", "test", "-c", "-o", program, "./"+b.pkg); err != nil {
			return nil, err
		}
	}
	parts := strings.Split("Benchmark"+b.name, "/")
	for i := range parts {
		parts[i] = "^" + parts[i] + "$"
	}
	args := []string{"-test.run", "^$", "-test.bench", strings.Join(parts, "/"), "-test.timeout", "20m"}
	if b.rounds > 0 {
		args = append(args, "-test.benchtime", fmt.Sprintf("%dx", b.rounds))
	}
	out, err := command(b.pkg, program, args...)
	if err != nil {
		return nil, err
	}
	results := map[string]float64{}
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		fields := strings.Fields(lines.Text()) // the name, the rounds, and pairs of a number and its unit
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		for i := 2; i+1 < len(fields); i += 2 {
			v, err := strconv.ParseFloat(fields[i], 64)
			if err != nil {
				return nil, fmt.Errorf("%s printed %q", b.name, lines.Text())
			}
			results[fields[i+1]] = v
		}
	}
	return results, nil
}

// command runs a program in a folder, without cgo, and returns what it prints.
func command(dir, name string, args ...string) ([]byte, error) {
	cmd := exec.Command(name, args...)
	// Temporary folders are on the disk, where tests have theirs in memory: a step of a run waits for the disk.
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "CGO_ENABLED=0", "TMPDIR="+os.TempDir())
	out, err := cmd.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	return out, nil
}

// write writes the baseline and the table of results.
func write(baseline, measured map[string]float64) error {
	maps.Copy(baseline, measured)
	text, err := json.MarshalIndent(baseline, "", "\t")
	if err != nil {
		return err
	}
	if err := os.WriteFile(baselineFile, append(text, '\n'), 0o644); err != nil {
		return err
	}
	page, err := resultsPage(baseline)
	if err != nil {
		return err
	}
	return os.WriteFile(resultsFile, page, 0o644)
}

// number prints a number with three digits or more.
func number(v float64) string {
	if v >= 100 || v == float64(int64(v)) {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}
