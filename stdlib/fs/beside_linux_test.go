package fs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/internal/testutil"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/stdlib/internal/rowtest"
)

// besideEnv makes the test below the process that appends: a file, and how many lines.
const besideEnv = "CASSIDY_TEST_BESIDE"

// An editor that knows no locks appends lines while commits replace the file: each line of both
// is there once, or in a file beside it to which a commit that met a conflict has saved it.
func TestNoLineIsLostBesideAnEditor(t *testing.T) {
	if at := os.Getenv(besideEnv); at != "" {
		file, n, _ := strings.Cut(at, "\n")
		count, _ := strconv.Atoi(n)
		for i := range count {
			f, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND, 0)
			rowtest.NoError(t, err)
			_, err = fmt.Fprintf(f, "editor %d.\n", i)
			rowtest.NoError(t, err)
			if i%10 == 0 {
				rowtest.NoError(t, f.Sync()) // so that commits get a turn
			}
			rowtest.NoError(t, f.Close())
		}
		return
	}
	d := newProject(t, map[string]string{"log": "begin\n"})
	n := testutil.Times(500, 10_000)
	editor := exec.Command(os.Args[0], "-test.run=^TestNoLineIsLostBesideAnEditor$")
	editor.Env = append(os.Environ(), besideEnv+"="+filepath.Join(d.Dir, "log")+"\n"+strconv.Itoa(n))
	rowtest.NoError(t, editor.Start())
	ended := make(chan error, 1)
	go func() { ended <- editor.Wait() }()
	var mine []int
	conflicts := 0
	for i := 0; ; i++ {
		select {
		case err := <-ended:
			rowtest.NoError(t, err)
			text := rowtest.GetFile(t, d.Dir, "log")
			saved, err := filepath.Glob(filepath.Join(d.Dir, "log.saved-*"))
			rowtest.NoError(t, err)
			beside := ""
			for _, file := range saved {
				beside += rowtest.GetFile(t, d.Dir, filepath.Base(file))
			}
			lost := 0
			for i := range n {
				line := fmt.Sprintf("editor %d.\n", i)
				if found := strings.Count(text, line); found > 1 || found == 0 && !strings.Contains(beside, line) {
					lost++
				}
			}
			for _, i := range mine {
				if strings.Count(text, fmt.Sprintf("commit %d.\n", i)) != 1 {
					t.Errorf("the line of commit %d is not there once", i)
				}
			}
			t.Logf("%d lines of the editor, %d lost; %d commits, %d conflicts, %d files saved", n, lost, len(mine), conflicts, len(saved))
			if lost > 0 || len(mine)+conflicts == 0 {
				t.Errorf("%d of %d lines of the editor are lost, beside %d commits and %d conflicts", lost, n, len(mine), conflicts)
			}
			d.noTemporaryFiles()
			return
		default:
		}
		d.Stage = &tool.Stage{}
		_, err := d.Call("fs.append", "path", "log", "content", fmt.Sprintf("commit %d.\n", i))
		if err == nil {
			_, err = d.Call("fs.commit")
		}
		if err != nil {
			conflicts++
			continue
		}
		mine = append(mine, i)
	}
}
