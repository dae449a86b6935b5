package eval

import (
	"github.com/cassidy-run/cassidy/runtime/agent/decision"
)

// FormatTest returns the suite with which formats are compared, in these formats of the model with
// a name. One task needs no arguments, one has an argument with spaces and quotes around it, and
// the tool of one takes several arguments. A task succeeds if the right call was made, whatever
// format it was written in, and the model then answered.
func FormatTest(model string, formats []decision.Format, repeat, iterations int) *Suite {
	files := map[string]string{
		"my script.R":  "# Marks the end of the report.\nclosing <- \"tangerine-41\"\nprint(closing)\n",
		"my_script.R":  "# Not this one: its name has no spaces.\nclosing <- \"none\"\n",
		"R/load.R":     "load_data <- function(path) {\n  utils::read.csv(path)\n}\n",
		"R/clean.R":    "clean_data <- function(table) {\n  table[stats::complete.cases(table), ]\n}\n",
		"R/plot.R":     "draw <- function(table) {\n  graphics::plot(table)\n}\n",
		"notes/log.md": "The data came on Monday.\n",
	}
	task := func(name, prompt, tool string, finds ...string) Task {
		return Task{
			Name: name, Prompt: prompt, Files: files, Tools: []string{"list_files", "read_file", "search_files"},
			Checks: []Check{{Call: &CallCheck{Tool: tool, Match: Match{Contains: finds}}}}, Limits: Limits{Iterations: iterations},
		}
	}
	return &Suite{
		Name: "format-test", Models: []string{model}, Formats: formats, Repeat: repeat,
		Tasks: []Task{
			task("simple", "List the R files in the working directory itself, and tell me their names.", "list_files", "my script.R", "my_script.R"),
			task("moderate", "Read the file 'my script.R' (its name has a space) and tell me the text that it prints.", "read_file", "tangerine-41"),
			task("complex", "Search the R files below the working directory for the functions whose names contain 'data', and tell me their names and files.",
				"search_files", "R/clean.R", "clean_data", "R/load.R", "load_data"),
		},
	}
}
