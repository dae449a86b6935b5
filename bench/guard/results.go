package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"time"
)

// resultsPage returns the text of bench/RESULTS.md.
func resultsPage(measured map[string]float64) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("# Results\n\nThis page was written by `go run ./bench/guard -update`, which also writes the baseline of `make bench`.\n" +
		"Each ratio is to something measured in the same run, and each number is the median of three tries.\nLess is better.\n\n")
	fmt.Fprintf(&b, "Measured on %s, on %s with %d processors (%s/%s), with %s.\n\n", time.Now().Format(time.DateOnly), processor(), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, strings.Join(versions(), ", "))
	b.WriteString("| what | measured | goal | |\n|---|---|---|---|\n")
	short := 0
	for _, bench := range benchmarks {
		for _, m := range bench.metrics {
			got, ok := measured[bench.name+" "+m.unit]
			goal, note := "", ""
			if m.goal > 0 {
				goal = number(m.goal)
			}
			switch {
			case !ok:
				note = "not measured"
			case m.goal > 0 && got > m.goal:
				short++
				note = "falls short"
			}
			value := "–"
			if ok {
				value = number(got)
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", m.what, value, goal, note)
		}
	}
	fmt.Fprintf(&b, "\nGoals that are not reached: %d.\n", short)
	return b.Bytes(), nil
}

// processor returns the name of the processor.
func processor() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	if m := regexp.MustCompile(`model name\s*: (.*)`).FindSubmatch(text); m != nil {
		return string(m[1])
	}
	return "an unknown processor"
}

// versions returns the versions of what is compared with.
func versions() []string {
	list := []string{runtime.Version()}
	for _, module := range []string{"go.starlark.net", "github.com/modelcontextprotocol/go-sdk", "modernc.org/sqlite"} {
		if out, err := exec.Command("go", "list", "-m", module).Output(); err == nil {
			list = append(list, strings.TrimSpace(string(out)))
		}
	}
	for _, program := range [][]string{{"bash", "--version"}, {"python3", "--version"}, {"sqlite3", "--version"}} {
		if out, err := exec.Command(program[0], program[1:]...).Output(); err == nil {
			line, _, _ := strings.Cut(string(out), "\n")
			if program[0] == "sqlite3" {
				line = "sqlite3 " + strings.Fields(line)[0]
			}
			list = append(list, line)
		}
	}
	return list
}
