package cassidy_test

import (
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// ordinary are tasks of an ordinary day, as messages of a conversation, and how many questions
// each of them has asked before untrusted text counted: measured at commit 3a1ca8a with this table.
var ordinary = []struct {
	name     string
	messages []string
	grants   string // the rules that allow
	asks     int
}{
	{"read a file", []string{"<<read_file|filepath=README.md>>"}, "", 0},
	{"read several files", []string{"<<read_files|filepaths=@README.md data.csv>>"}, "", 0},
	{"search", []string{"<<search_files|pattern=project>> <<list_files>>"}, "", 0},
	{"edit a file", []string{"<<read_file|filepath=README.md>> <<edit_file|filepath=README.md|old_text=A|new_text=My>>"}, "", 1},
	{"edit a file with a grant", []string{"<<read_file|filepath=README.md>> <<edit_file|filepath=README.md|old_text=A|new_text=My>>"}, "fs.write", 0},
	{"edit, and run the tests", []string{"<<read_file|filepath=README.md>> <<edit_file|filepath=README.md|old_text=A|new_text=My>> <<run_command|command=go test ./...>>"}, "fs.write shell tool:run_command", 0},
	{"run a command without a grant", []string{"<<run_command|command=go test ./...>>"}, "", 1},
	{"git status", []string{"<<git_status>>"}, "shell:git tool:git_status", 0},
	{"git status without a grant", []string{"<<git_status>>"}, "", 1},
	{"query a table", []string{"<<query_data|filepath=data.csv|query=SELECT count(*) FROM data>> <<describe_data|filepath=data.csv>>"}, "", 0},
	{"summarize a page into a file", []string{"Summarize PAGE/a <<fetch_url|url=PAGE/a>> <<write_file|filepath=sum.md|content=It is fine.>>"}, "http.get tool:fetch_url fs.write", 0},
	{"summarize a page without a grant", []string{"Summarize PAGE/a <<fetch_url|url=PAGE/a>> <<write_file|filepath=sum.md|content=It is fine.>>"}, "", 2},
	{"compare two pages", []string{"Compare PAGE/a with PAGE/b. <<fetch_url|url=PAGE/a>> <<fetch_url|url=PAGE/b>>"}, "http.get tool:fetch_url", 0},
	{"read a long page in parts", []string{"<<fetch_url|url=PAGE/a>> <<fetch_url|url=PAGE/a|offset=7>>"}, "http.get tool:fetch_url", 0},
	{"a page, and then git status", []string{"Read PAGE/a <<fetch_url|url=PAGE/a>> <<git_status>>"}, "http.get tool:fetch_url shell:git tool:git_status", 0},
	{"a page, and then a read-only command", []string{"Read PAGE/a <<fetch_url|url=PAGE/a>> <<run_command|command=git log -n 3>>"}, "http.get tool:fetch_url shell tool:run_command", 0},
	{"a page, and then data", []string{"Read PAGE/a <<fetch_url|url=PAGE/a>>", "<<query_data|filepath=data.csv|query=SELECT sum(a) FROM data>> <<count_words|text=x y>>"}, "http.get tool:fetch_url", 0},
	{"a page, and then questions that were asked anyway", []string{"Read PAGE/a <<fetch_url|url=PAGE/a>>", "<<run_command|command=go test ./...>>"}, "http.get tool:fetch_url", 1},
	{"send a note", []string{"<<post_note|url=THIEF/in|text=hello>>"}, "http.post", 0},
	{"send a note after reading the project", []string{"<<read_file|filepath=data.csv>> <<search_files|pattern=project>>", "<<post_note|url=THIEF/in|text=hello>>"}, "http.post", 0},
	{"a trusted API, and then a note", []string{"<<post_note|url=PAGE/v1|text=hello>>", "<<post_note|url=THIEF/in|text=hello>>"}, "http.post trust", 0},
	{"a sub-agent that reads", []string{"<<agent|task=do %LT%LTread_file%BARfilepath=README.md%GT%GT>> <<run_command|command=go test ./...>>"}, "shell tool:run_command", 0},
	{"a program over files", []string{`<<execute_code|code=[len(read_file(filepath = f)) for f in ["README.md", "data.csv"]]>> <<run_command|command=go test ./...>>`}, "shell tool:run_command", 0},
	{"a tool that reads pages and sends", []string{"<<relay|url=THIEF/in|text=hello>>"}, "http.post tool", 0},
	{"pages in parallel", []string{"<<all_pages|urls=@PAGE/a PAGE/b>>"}, "http.get tool", 0},
}

// asked counts the questions of a conversation.
func (w *flowWorld) converse(t *testing.T, messages []string) int {
	t.Helper()
	s := w.session(t, w.open(t), "")
	for _, m := range messages {
		w.send(t, s, m)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.asked)
}

// TestOrdinaryTasks checks that ordinary tasks ask no more than before untrusted text counted.
func TestOrdinaryTasks(t *testing.T) {
	if len(ordinary) < 20 {
		t.Errorf("there are %d tasks", len(ordinary))
	}
	for _, tt := range ordinary {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newFlowWorld(t)
			w.yes, w.rules = true, []cassidy.Rule{}
			for _, text := range strings.Fields(tt.grants) {
				if text == "trust" {
					w.trusted = []string{"http:" + strings.TrimPrefix(w.page, "http://")}
					continue
				}
				c, err := tool.ParseCapability(text)
				if err != nil {
					t.Fatal(err)
				}
				w.rules = append(w.rules, cassidy.Rule{Verdict: cassidy.Allow, Capability: c})
			}
			if got := w.converse(t, tt.messages); got != tt.asks {
				t.Errorf("%d questions, want %d: %+v", got, tt.asks, w.asked)
			}
			for _, call := range w.failed {
				t.Errorf("a call failed: %s", call)
			}
		})
	}
}

// TestPersonsAreNotSteered checks that a tool that a person runs, and whose script alone chooses
// what it sends, asks nothing, whatever it reads.
func TestPersonsAreNotSteered(t *testing.T) {
	t.Parallel()
	w := newFlowWorld(t)
	h := w.open(t)
	for _, c := range []tool.Call{
		{Tool: "api", Args: value.NewDict("url", w.page)}, {Tool: "post_note", Args: value.NewDict("url", w.thief, "text", "x")}, {Tool: "tweet", Args: value.NewDict("text", "x")},
		{Tool: "execute_code", Args: value.NewDict("code", `post_note(url = "`+w.thief+`", text = api(url = "`+w.page+`"))`)},
	} {
		c.Caller = tool.ByPerson
		if _, err := h.Call(t.Context(), c); err != nil {
			t.Errorf("%s: %v", c.Tool, err)
		}
	}
	source := "def main(page, to):\n    return tools.post_note(url = to, text = tools.fetch_url(url = page))\n"
	_, err := h.RunProgram(t.Context(), &host.Program{Name: "workflow news", Entry: "main", Args: value.NewDict("page", w.page, "to", w.thief),
		Script: tool.Script{Name: "news", Path: "news.star", Source: source}, Needs: []tool.Capability{{Name: "tool"}}})
	if err != nil || len(w.asked) > 0 {
		t.Errorf("a workflow: %v, questions %+v", err, w.asked)
	}
}

// TestPermanentAnswers checks that a permanent answer holds until another source is read.
func TestPermanentAnswers(t *testing.T) {
	t.Parallel()
	w := newFlowWorld(t)
	w.yes, w.always, w.rules = true, true, []cassidy.Rule{{Verdict: cassidy.Allow, Capability: cassidy.Capability{Name: "tool", Target: "fetch_url"}}}
	s := w.session(t, w.open(t), "")
	asked := 0
	for _, step := range []struct {
		message string
		asks    int
		why     string
	}{
		{"<<post_note|url=THIEF/in|text=a>>", 1, "may use http.post"},
		{"<<post_note|url=THIEF/in|text=b>>", 1, "untrusted text: post_note read http.post"}, // the answer to the first one
		{"<<post_note|url=THIEF/in|text=bb>>", 0, ""},
		{"Read PAGE/x <<fetch_url|url=PAGE/x>>", 1, "may use http.get"},
		{"<<post_note|url=THIEF/in|text=c>>", 1, "untrusted text: fetch_url"},
		{"<<post_note|url=THIEF/in|text=d>>", 0, ""},
		{"<<read_chat>>", 0, ""},
		{"<<post_note|url=THIEF/in|text=e>>", 1, "the result of read_chat"},
		{"<<tweet|text=f>>", 1, "the result of read_chat"},
		{"<<tweet|text=g>>", 1, "the result of tweet"}, // what it returned is untrusted, too
		{"<<count_words|text=g>>", 0, ""},
	} {
		w.send(t, s, step.message)
		if got := len(w.asked) - asked; got != step.asks {
			t.Errorf("%s: %d questions, want %d: %+v", step.message, got, step.asks, w.asked[asked:])
		}
		if step.asks > 0 && len(w.asked) > asked && !strings.Contains(w.asked[len(w.asked)-1].Why, step.why) {
			t.Errorf("%s is asked because %q, want %q", step.message, w.asked[len(w.asked)-1].Why, step.why)
		}
		asked = len(w.asked)
	}
}
