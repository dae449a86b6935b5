package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/cassidy-run/cassidy/internal/testutil"
)

// An account is a server of models that counts what it answered. At a request it kills the process
// that sent it, and does not answer.
type account struct {
	mu      sync.Mutex
	got     int
	strikes int    // at which request, from 1; 0 is none
	strike  func() // kills the process
	efforts []string
	asked   map[string]int // how often each request was made, by its conversation
	used    struct{ Requests, Input, Output int }
}

func (a *account) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost { // the sizes of the model
		http.NotFound(w, r)
		return
	}
	var q struct {
		Messages []struct{ Role, Content string }
		Effort   string `json:"reasoning_effort"`
	}
	_ = json.NewDecoder(r.Body).Decode(&q)
	text := ""
	for _, m := range q.Messages {
		text += m.Role + ": " + m.Content + "\n"
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.asked != nil {
		a.asked[text]++
	}
	if a.got++; a.got == a.strikes {
		a.strike()
		panic(http.ErrAbortHandler)
	}
	a.efforts = append(a.efforts, q.Effort)
	a.used.Requests++
	input, output := 100+a.got, 10+a.got
	a.used.Input, a.used.Output = a.used.Input+input, a.used.Output+output
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"choices": [{"message": {"role": "assistant", "content": %s}, "finish_reason": "stop"}], "usage": {"prompt_tokens": %d, "completion_tokens": %d}}`,
		strconv.Quote(replyTo(text, strings.Count(text, "\nassistant: "))), input, output)
}

// replyTo is a model that reads a file, has a sub-agent look and reads again, and answers questions
// of scripts; the first attempt at a list is none.
func replyTo(text string, replies int) string {
	call := func(tool, input string) string {
		return `{"tool_decision": {"action": "` + tool + `", "input": {` + input + `}, "reasoning": "it is needed", "status": "continue"}}`
	}
	switch {
	case strings.Contains(text, "ALL THREE") && replies == 0:
		return call("agent", `"task": "LOOK at one"`) + call("agent", `"task": "LOOK at two"`) + call("agent", `"task": "LOOK at three"`)
	case strings.Contains(text, "ALL THREE"):
		return "TASK COMPLETE: all three"
	case strings.Contains(text, "LOOK") && !strings.Contains(text, "HAVE IT"), strings.Contains(text, "ONE WORD"):
		return "TASK COMPLETE: yes"
	case strings.Contains(text, "A LIST") && replies == 0:
		return "I would rather not."
	case strings.Contains(text, "A LIST"):
		return "[1, 2]"
	case replies == 1:
		return call("agent", `"task": "LOOK at it"`)
	case replies < 4:
		return call("read_file", `"filepath": "a.txt", "offset": `+strconv.Itoa(replies+1))
	}
	return "TASK COMPLETE: done"
}

// TestUsageOfKilledRuns kills a task and a workflow at each of their requests to a model. What the
// resumed run reports as used is what the server has answered: all of it, and nothing twice.
func TestUsageOfKilledRuns(t *testing.T) {
	t.Parallel()
	p := newFlowProject(t, map[string]string{
		"workflows/ask.star": "def main():\n    first = model.ask(\"ONE WORD\")\n    many = model.ask(\"A LIST\", schema = \"list[int]\")\n    return [first, many, model.ask(\"ONE WORD more\")]\n",
	})
	p.Write("a.txt", "one\ntwo\nthree\nfour\nfive\n")
	for name, args := range map[string][]string{
		"task":     {"task", "HAVE IT done", "--model", "openai:fake", "--format", "pure_json", "--tools", "read_file,agent", "--yes"},
		"workflow": {"run", "ask", "--model", "openai:fake", "--yes"},
	} {
		t.Run(name, func(t *testing.T) {
			for strikes := 0; strikes == 0 || strikes <= 6 && name == "task" || strikes <= 4; strikes += testutil.Times(2, 1) {
				a := &account{strikes: strikes}
				server := httptest.NewServer(a)
				id := fmt.Sprintf("%s-%d", name, strikes)
				line := a.process(t, p, server.URL, id, append(args, "--run-id", id)...)
				if strikes > 0 {
					if line != "" {
						t.Fatalf("request %d: the process was not killed: %s", strikes, line)
					}
					line = a.process(t, p, server.URL, id, "runs", "resume", id, "--yes")
				}
				server.Close()
				want := fmt.Sprintf(`{"requests":%d,"input_tokens":%d,"cached_input_tokens":0,"output_tokens":%d,"cost_usd":null`, a.used.Requests, a.used.Input, a.used.Output)
				if !strings.Contains(line, `"usage":`+want) {
					t.Errorf("request %d: the run ended with\n%s\nwant the usage\n%s", strikes, line, want)
				}
				if shown, _, _ := p.Run("--json", "runs", "show", id); !strings.Contains(shown, `"usage":`+want) {
					t.Errorf("request %d: runs show --json = %s\nwant the usage\n%s", strikes, shown, want)
				}
			}
		})
	}
}

// TestKilledParallelAgents kills a task with three agents in parallel at its requests. The
// resumed run makes each request at most once more, and none whose reply was recorded.
func TestKilledParallelAgents(t *testing.T) {
	t.Parallel()
	p := newFlowProject(t, nil)
	for _, strikes := range testutil.Sample([]int{1, 2, 3, 4, 5}, 3) {
		a := &account{strikes: strikes, asked: map[string]int{}}
		server := httptest.NewServer(a)
		id := fmt.Sprintf("three-%d", strikes)
		line := a.process(t, p, server.URL, id, "task", "ALL THREE", "--model", "openai:fake", "--format", "pure_json", "--tools", "agent", "--yes", "--run-id", id)
		if line != "" {
			t.Fatalf("request %d: the process was not killed: %s", strikes, line)
		}
		line = a.process(t, p, server.URL, id, "runs", "resume", id, "--yes")
		server.Close()
		if !strings.Contains(line, `"answer":"all three"`) || !strings.Contains(line, `"success":true`) {
			t.Errorf("request %d: the resumed run ended with %s", strikes, line)
		}
		if len(a.asked) != 5 {
			t.Errorf("request %d: %d different requests were made, want 5", strikes, len(a.asked))
		}
		again := 0
		for request, n := range a.asked {
			again += n - 1
			if n > 2 {
				t.Errorf("request %d: %d times the same request:\n%s", strikes, n, request)
			}
		}
		if most := map[int]int{1: 1, 5: 1}[strikes]; most > 0 && again != most || again < 1 || again > 3 {
			t.Errorf("request %d: %d requests were made again", strikes, again)
		}
	}
}

// TestLimitsOfKilledRuns stops a run at its limit of requests, and kills the process that resumes it
// with a higher one. The next one has the higher limit, and the settings of the first.
func TestLimitsOfKilledRuns(t *testing.T) {
	t.Parallel()
	p := newFlowProject(t, map[string]string{
		"workflows/ask.star": "def main():\n    return [model.ask(\"ONE WORD %d\" % i) for i in range(5)] + [model.ask(\"ONE WORD\", effort = \"high\")]\n",
	})
	p.Write("a.txt", "one\ntwo\nthree\nfour\nfive\n")
	for name, args := range map[string][]string{
		"task":     {"task", "HAVE IT done", "--format", "pure_json", "--tools", "read_file,agent"},
		"workflow": {"run", "ask"},
	} {
		a := &account{strikes: 4}
		server := httptest.NewServer(a)
		args = append(args, "--model", "openai:fake", "--effort", "low", "--yes", "--run-id", name, "--max-requests")
		if line := a.process(t, p, server.URL, name, append(args, "2")...); !strings.Contains(line, "limit of 2 requests") {
			t.Errorf("%s ended with %s, want it stopped at its limit", name, line)
		}
		if line := a.process(t, p, server.URL, name, "runs", "resume", name, "--yes", "--max-requests", "5"); line != "" {
			t.Errorf("%s was not killed: %s", name, line)
		}
		if line := a.process(t, p, server.URL, name, "runs", "resume", name, "--yes"); !strings.Contains(line, "limit of 5 requests") {
			t.Errorf("%s ended with %s, want it stopped at the higher limit", name, line)
		}
		if shown, _, _ := p.Run("runs", "show", name, "--verbose"); !strings.Contains(shown, `the limits are now {"requests":5}`) {
			t.Errorf("%s: runs show does not show the higher limit:\n%s", name, shown)
		}
		if line := a.process(t, p, server.URL, name, "runs", "resume", name, "--yes", "--max-requests", "9"); !strings.Contains(line, `"success":true`) {
			t.Errorf("%s ended with %s", name, line)
		}
		server.Close()
		want := "low low low low low low"
		if name == "workflow" {
			want = "low low low low low high"
		}
		if got := strings.Join(a.efforts, " "); got != want {
			t.Errorf("%s asked with the efforts %s, want %s", name, got, want)
		}
	}
}

// process runs a process until it ends or the server kills it, and returns the line with the
// end of the run, or "".
func (a *account) process(t *testing.T, p *flowProject, url, id string, args ...string) (last string) {
	t.Helper()
	cmd := p.command(args...)
	cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+url, "OPENAI_API_KEY=k", "OPENAI_API=chat")
	cmd.Stderr = os.Stderr
	a.mu.Lock()
	var out strings.Builder
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	a.strike = func() { _ = cmd.Process.Kill() }
	a.mu.Unlock()
	_ = cmd.Wait() // the last line shows how it ended
	for line := range strings.Lines(out.String()) {
		if strings.HasPrefix(line, `{"type":"run_end"`) && strings.Contains(line, `"run":"`+id+`"`) {
			last = line
		}
	}
	return last
}
