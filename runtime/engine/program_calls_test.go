package engine_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/engine"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/stdlib"
)

// TestNoFaultsInCorrectScripts checks that no call in the built-in tools, the templates and the
// examples, which are correct, is a fault of a program.
func TestNoFaultsInCorrectScripts(t *testing.T) {
	world, err := stdlib.Open(&stdlib.Options{Root: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer world.Close()
	e := engine.New(&engine.Options{Modules: append(stdlib.Pure(), world.Modules()...)})
	declarations := map[string]string{"tools.star": "def tool(*args, **kwargs): pass\ndef param(*args, **kwargs): pass\ndef example(*args, **kwargs): pass\n"}
	fault := regexp.MustCompile(`argument|parameter|lacks|accepts|needs`)
	checked := 0
	for _, pattern := range []string{"../../tools/*.star", "../../scripts/*/*.star", "../../examples/*/.cassidy/*/*.star"} {
		files, _ := filepath.Glob(pattern)
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(text), "\nload(") { // which programs do not have
				continue
			}
			checked++
			planted := e.Compile(tool.Script{Path: "p.code", Source: string(text) + "\njson.decode()\n", Libs: declarations})
			if planted == nil || !strings.Contains(planted.Error(), "json.decode lacks the required argument text") {
				t.Errorf("%s: a planted fault is not found: %v", file, planted)
			}
			err = e.Compile(tool.Script{Path: "p.code", Source: string(text), Libs: declarations})
			if err == nil {
				continue
			}
			for line := range strings.SplitSeq(err.Error(), "\n") {
				if fault.MatchString(line) {
					t.Errorf("%s: %s", file, line)
				}
			}
		}
	}
	if checked < 20 {
		t.Errorf("%d scripts were checked, want more", checked)
	}
}
