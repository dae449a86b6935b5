package scripttest

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/runtime/engine"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Coverage is which statements of a file the tests have run.
type Coverage struct {
	File    string
	Lines   int   // those in which statements of functions begin
	Missing []int // those that have not run
}

// Percent returns the share of the lines that have run, from 0 to 100.
func (c *Coverage) Percent() float64 {
	if c.Lines == 0 {
		return 100
	}
	return 100 * float64(c.Lines-len(c.Missing)) / float64(c.Lines)
}

// coverage collects the lines that have run. It is safe for concurrent use.
type coverage struct {
	mu  sync.Mutex
	ran map[string]map[int]bool // the lines by the files of the source
}

// module returns the effect with which calls report their lines.
func (c *coverage) module() tool.Module {
	name, function, _ := strings.Cut(engine.CoverEffect, ".")
	return tool.Module{Name: name, Funcs: []tool.Func{{
		Name: function, Doc: "Report which lines have run.", Kind: tool.Recorded, Returns: "nothing",
		Params: []tool.Param{tool.Required("files", tool.TypeObject, "the lines, by file")},
		Do: func(_ context.Context, e tool.Effect, _ tool.Grant) (tool.Outcome, error) {
			c.add(dictOf(e.Args, "files"))
			return tool.Outcome{}, nil
		},
	}}}
}

func (c *coverage) add(files *value.Dict) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ran == nil {
		c.ran = map[string]map[int]bool{}
	}
	for name := range files.All() {
		file, _ := name.(string)
		if c.ran[file] == nil {
			c.ran[file] = map[int]bool{}
		}
		for _, line := range files.Elements(file) {
			if n, ok := line.(int64); ok {
				c.ran[file][int(n)] = true
			}
		}
	}
}

// Coverage returns which statements of the tools, the workflows and the files that they load have
// run in the tests. It is empty without Options.Cover. Files of which nothing has run are included
// only if the tests were not limited to a part of the folder.
func (s *Suite) Coverage() []Coverage {
	if !s.opts.Cover {
		return nil
	}
	s.cover.mu.Lock()
	defer s.cover.mu.Unlock()
	e := engine.New(nil)
	var list []Coverage
	for name, text := range s.files.source {
		ran := s.cover.ran[s.files.copied(name)]
		if ran == nil && (s.opts.Filter != nil || len(s.opts.Paths) > 0) {
			continue
		}
		all, err := e.Statements(tool.Script{Path: name, Source: text})
		if err != nil {
			continue // it is reported as an invalid file
		}
		c := Coverage{File: s.files.path(name), Lines: len(all)}
		for _, line := range all {
			if !ran[line] {
				c.Missing = append(c.Missing, line)
			}
		}
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b Coverage) int { return strings.Compare(a.File, b.File) })
	return list
}

// copied returns the name that calls report for a file of source.
func (f *files) copied(name string) string {
	switch {
	case strings.HasPrefix(name, "lib/"):
		return name // as it is loaded
	case strings.HasPrefix(name, workflows):
		return folder.Name + "/" + name
	}
	return folder.ToolsDir + "/" + name
}
