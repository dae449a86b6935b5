package test

import (
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/cmd/internal/draw"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/describe"
	"github.com/cassidy-run/cassidy/internal/scripttest"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A report collects the results of a round, and prints them.
type report struct {
	c       *command
	suite   *scripttest.Suite
	cover   bool // the coverage is shown
	began   time.Time
	drawn   *drawn // on a terminal; else nil
	results []scripttest.Result
	failed  int

	causes map[string]string // of failures that were printed: the first test that each one failed

	file   string // whose tests are being printed
	passed int    // of its tests
	took   time.Duration
}

// testing is what the live line shows while tests run.
const testing = "test"

func newReport(c *command, s *scripttest.Suite, cover bool) *report {
	r := &report{c: c, suite: s, cover: cover, began: time.Now()}
	if ui.IsTerminal(c.Out) && !c.JSON {
		r.drawn = newDrawn(c)
	}
	return r
}

// add adds a result, and prints it. A file whose tests pass is one line, unless --verbose is set.
func (r *report) add(result scripttest.Result) {
	if result.Skipped {
		return
	}
	r.results = append(r.results, result)
	if result.Err != nil {
		r.failed++
	}
	switch {
	case r.c.JSON:
		return
	case r.drawn != nil:
		r.drawn.add(&result)
		r.c.Live.Progress(testing, testing, result.File, float64(len(r.results)), float64(len(r.suite.Tests())))
		return
	}
	if r.file != result.File {
		r.endFile()
		r.file = result.File
	}
	switch {
	case result.Err != nil:
		r.printFailure(&result)
	case r.c.Verbose:
		r.c.Print(r.line("ok", "", result.File+": "+result.Name, milliseconds(result.Duration)))
	default:
		r.passed++
		r.took += result.Duration
	}
}

// endFile prints the line of the tests of a file that have passed.
func (r *report) endFile() {
	if r.passed > 0 && !r.c.Quiet {
		r.c.Print(r.line("ok", "", r.file, ui.Count(r.passed, "test")+", "+milliseconds(r.took)))
	}
	r.passed, r.took = 0, 0
}

func (r *report) line(word, code, what, more string) string {
	s := r.c.ScreenOf(r.c.Out)
	return s.Paint(code, draw.Pad(word, 4, false)) + "  " + ui.VisibleLine(what) + "  " + s.Paint(draw.Dim, more) + "\n"
}

func (r *report) printFailure(result *scripttest.Result) {
	r.c.Print(r.line("FAIL", draw.Bold, result.File+": "+result.Name, milliseconds(result.Duration)))
	r.c.Print(indent(r.cause(result)))
	if len(result.Output) > 0 {
		r.c.Print(indent("output:\n" + strings.Join(result.Output, "\n")))
	}
}

// cause describes why a test has failed. One cause often fails many tests, such as an untrusted tool that
// they call: it is printed for the first of them.
func (r *report) cause(result *scripttest.Result) string {
	e := describe.ForUsers(result.Err)
	key := e.Message() + "\n" + e.Hint
	if first, ok := r.causes[key]; ok && e.Hint != "" {
		at := e.Pos.String()
		if at != "" {
			at += ": "
		}
		return at + "the same error as in " + first
	}
	if r.causes == nil {
		r.causes = map[string]string{}
	}
	if _, ok := r.causes[key]; !ok {
		r.causes[key] = result.ID()
	}
	return failure(result)
}

// failure describes why a test has failed.
func failure(result *scripttest.Result) string {
	e := describe.ForUsers(result.Err)
	text := e.Message()
	if at := e.Pos.String(); at != "" && !strings.HasPrefix(text, at) {
		text = at + ": " + text
	}
	if e.Hint != "" {
		text = strings.TrimRight(text, "\n") + "\nhint: " + e.Hint
	}
	return text
}

func indent(text string) string {
	return "      " + strings.ReplaceAll(strings.TrimRight(ui.Printable(text), "\n"), "\n", "\n      ") + "\n"
}

func milliseconds(d time.Duration) string { return fmt.Sprintf("%d ms", d.Milliseconds()) }

// end prints the end of the report.
func (r *report) end() error {
	took := time.Since(r.began)
	r.c.Live.End(testing)
	if r.drawn != nil {
		r.drawn.end(len(r.results)-r.failed, r.failed, took, r.suite.Coverage())
		return nil
	}
	if r.c.JSON {
		tests := value.List{}
		for i := range r.results {
			tests = append(tests, resultDict(&r.results[i]))
		}
		d := value.NewDict("success", r.failed == 0, "passed", int64(len(r.results)-r.failed), "failed", int64(r.failed), "duration_ms", took.Milliseconds(), "tests", tests)
		if r.cover {
			d.Put("coverage", coverageList(r.suite.Coverage()))
		}
		return r.c.PrintJSON(d)
	}
	r.endFile()
	r.printCoverage(r.suite.Coverage())
	switch n := len(r.results); {
	case n == 0:
		r.c.Print("no tests\n")
		r.c.Note("to write a test: def test_NAME(t) in the file NAME_test.star beside the tool NAME")
	case r.failed > 0:
		r.c.Print(fmt.Sprintf("%s: %d passed, %d failed, %.1f s\n", ui.Count(n, "test"), n-r.failed, r.failed, took.Seconds()))
	default:
		r.c.Print(fmt.Sprintf("%s passed, %.1f s\n", ui.Count(n, "test"), took.Seconds()))
	}
	return nil
}

func resultDict(r *scripttest.Result) *value.Dict {
	d := value.NewDict("file", r.File, "name", r.Name, "tool", r.Tool, "line", int64(r.Line), "success", r.Err == nil, "duration_ms", r.Duration.Milliseconds())
	if r.Err != nil {
		d.Put("at", r.Err.Pos.String())
		describe.PutError(d, r.Err)
	}
	if len(r.Output) > 0 {
		d.Put("output", ui.Texts(r.Output))
	}
	return d
}

// The elements of a JUnit file, as most readers of it know them.
type (
	junitSuites struct {
		XMLName xml.Name     `xml:"testsuites"`
		Suites  []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Time     string      `xml:"time,attr"`
		Cases    []junitCase `xml:"testcase"`
		took     time.Duration
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		File    string        `xml:"file,attr"`
		Line    int           `xml:"line,attr,omitempty"`
		Time    string        `xml:"time,attr"`
		Failure *junitFailure `xml:"failure"`
		Output  string        `xml:"system-out,omitempty"`
	}
	junitFailure struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// writeJUnit writes the results in the format of JUnit, a suite for each file.
func writeJUnit(file string, r *report) error {
	var all junitSuites
	for i := range r.results {
		result := &r.results[i]
		n := len(all.Suites)
		if n == 0 || all.Suites[n-1].Name != result.File {
			all.Suites = append(all.Suites, junitSuite{Name: result.File})
			n++
		}
		s := &all.Suites[n-1]
		c := junitCase{Class: result.File, Name: result.Name, File: result.File, Line: result.Line, Time: seconds(result.Duration), Output: ui.Printable(strings.Join(result.Output, "\n"))}
		if result.Err != nil {
			text := ui.Printable(failure(result))
			first, _, _ := strings.Cut(text, "\n")
			c.Failure = &junitFailure{first, text}
			s.Failures++
		}
		s.Tests++
		s.took += result.Duration
		s.Time = seconds(s.took)
		s.Cases = append(s.Cases, c)
	}
	data, err := xml.MarshalIndent(&all, "", "  ")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(file), 0o755)
	}
	if err == nil {
		err = os.WriteFile(file, append([]byte(xml.Header), append(data, '\n')...), 0o644)
	}
	if err != nil {
		return value.Errorf(value.Failed, "write the results: %w", ui.FileError(err)).WithHint("choose another file: --junit FILE")
	}
	return nil
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }

// printCoverage prints a line for each file: how many of its statements have run, and the lines of
// the others. The last line is the total of several files.
func (r *report) printCoverage(list []scripttest.Coverage) {
	width := 0
	total := scripttest.Coverage{File: "total"}
	for i := range list {
		width = max(width, len(list[i].File))
		total.Lines += list[i].Lines
		total.Missing = append(total.Missing, list[i].Missing...)
	}
	for i := range list {
		c := &list[i]
		line := fmt.Sprintf("%s  %5.1f%% of %s", draw.Pad(ui.VisibleLine(c.File), width, false), c.Percent(), ui.Count(c.Lines, "statement"))
		if len(c.Missing) > 0 {
			line += "; not run: " + missingLines(c)
		}
		r.c.Print(line + "\n")
	}
	if len(list) > 1 {
		r.c.Print(fmt.Sprintf("%s  %5.1f%% of %s\n", draw.Pad(total.File, width, false), total.Percent(), ui.Count(total.Lines, "statement")))
	}
}

// missingLines lists the lines of the statements that have not run, as in 3, 7-9.
func missingLines(c *scripttest.Coverage) string {
	var parts []string
	for i := 0; i < len(c.Missing); {
		from := c.Missing[i]
		to := from
		for i++; i < len(c.Missing) && c.Missing[i] == to+1; i++ {
			to++
		}
		if from == to {
			parts = append(parts, fmt.Sprint(from))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", from, to))
		}
	}
	return strings.Join(parts, ", ")
}

func coverageList(list []scripttest.Coverage) value.List {
	out := value.List{}
	for i := range list {
		c := &list[i]
		missing := value.List{}
		for _, line := range c.Missing {
			missing = append(missing, int64(line))
		}
		out = append(out, value.NewDict("file", c.File, "statements", int64(c.Lines), "percent", c.Percent(), "missing", missing))
	}
	return out
}
