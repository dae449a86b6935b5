package mcp

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/runtime/value"
)

var update = flag.Bool("update", false, "write what the files of settings become")

// TestInstalled compares what the settings of each client become, in a new file and in one that its user has written, with files.
// To install again changes nothing, with the environment of a second home too.
func TestInstalled(t *testing.T) {
	t.Parallel()
	c := &command{App: app.New(&app.World{Env: os.LookupEnv})}
	for _, client := range c.clients() {
		t.Run(client.name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join("testdata", "install", client.name+".txtar")
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			args := []string{"--dir", "/home/you/project", "mcp", "serve"}
			plain := client.form.entry("/home/you/go/bin/cassidy", args, nil)
			home := client.form.entry("/home/you/go/bin/cassidy", args, value.NewDict("CASSIDY_HOME", "/home/you/my cassidy"))
			mine := string(archive.Files[0].Data)
			got := &txtar.Archive{Comment: archive.Comment, Files: archive.Files[:1:1]}
			for _, step := range []struct {
				name, before string
				entry        *value.Dict
			}{{"new", "", plain}, {"new with CASSIDY_HOME", "", home}, {"merged", mine, plain}, {"merged with CASSIDY_HOME", mine, home}} {
				e, err := client.form.edited(step.before, serverName, step.entry)
				if err != nil {
					t.Fatalf("%s: %v", step.name, err)
				}
				again, err := client.form.edited(e.text, serverName, step.entry)
				if err != nil || again.text != e.text || !again.had || again.replaces {
					t.Errorf("%s: to install again gives %+v, %v", step.name, again, err)
				}
				got.Files = append(got.Files, txtar.File{Name: step.name, Data: []byte(e.text)})
			}
			if *update {
				if err := os.WriteFile(file, txtar.Format(got), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if string(txtar.Format(got)) != string(txtar.Format(archive)) {
				t.Errorf("the settings are\n%s\nwant\n%s", txtar.Format(got), txtar.Format(archive))
			}
		})
	}
}
