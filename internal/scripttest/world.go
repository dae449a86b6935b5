package scripttest

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/runtime/history/fixture"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// written is when the files of a test were last changed.
var written = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// setFiles replaces the files of the project.
func (x *test) setFiles(args *value.Dict) error {
	if err := removeFiles(x.slot.project()); err != nil {
		return value.Errorf(value.Failed, "remove the files of the last test: %w", folder.Cause(err))
	}
	x.hasFiles = true
	root, err := os.OpenRoot(x.slot.project())
	if err != nil {
		return value.Errorf(value.Failed, "open the folder of the test: %w", folder.Cause(err))
	}
	defer root.Close()
	c := copying{to: root}
	if from := args.Text("folder"); from != "" {
		if clean := path.Clean(from); !fs.ValidPath(clean) || strings.Contains(from, `\`) {
			return invalidCopy(from)
		}
		from = path.Join(x.slot.suite.files.data, from)
		if err := c.folder(x.slot.suite.files.dir, from, from); err != nil {
			return err
		}
	}
	for _, v := range args.Elements("copy") {
		name, _ := v.(string)
		if err := c.folder(x.slot.suite.files.dir, name, ""); err != nil {
			return err
		}
	}
	for k, v := range dictOf(args, "files").All() {
		name, _ := k.(string)
		data, ok := v.([]byte)
		if text, isText := v.(string); isText {
			data, ok = []byte(text), true
		}
		if !ok {
			return value.Errorf(value.Invalid, "the content of %q should be a string or bytes but got %s", name, value.TypeOf(v))
		}
		if err := writeIn(root, name, data); err != nil {
			return err
		}
	}
	return nil
}

// writeIn writes a file, or creates a folder, in the project of a test.
func writeIn(root *os.Root, name string, data []byte) error {
	clean := path.Clean(name)
	if !fs.ValidPath(clean) || clean == "." || strings.Contains(name, `\`) {
		return value.Errorf(value.Invalid, "invalid path %q", name).WithHint("use a path in the project, such as docs/notes.md")
	}
	dir := path.Dir(clean)
	if strings.HasSuffix(name, "/") {
		dir = clean
	}
	err := root.MkdirAll(dir, 0o755)
	if err == nil && dir != clean {
		err = root.WriteFile(clean, data, 0o644)
	}
	if err == nil {
		err = root.Chtimes(clean, written, written)
	}
	if err != nil {
		return value.Errorf(value.Failed, "write %s: %w", name, folder.Cause(err))
	}
	return nil
}

// The limits of what a test copies.
const (
	maxCopied      = 1000     // files
	maxCopiedBytes = 64 << 20 // of all files
)

// A copying copies files into the project of a test.
type copying struct {
	to           *os.Root
	files, bytes int
}

func invalidCopy(name string) error {
	return value.Errorf(value.Invalid, "invalid path %q", name).WithHint("name a file or a folder, such as data/sales.csv")
}

// folder copies a file, or a folder with everything in it except hidden folders, without a part of the
// paths. Links must not lead out of the folder base.
func (c *copying) folder(base, name, without string) error {
	clean := path.Clean(name)
	if !fs.ValidPath(clean) || strings.Contains(name, `\`) {
		return invalidCopy(name)
	}
	dir, err := os.OpenRoot(base)
	if err != nil {
		return value.Errorf(value.Failed, "copy %s: %w", name, folder.Cause(err))
	}
	defer dir.Close()
	files := dir.FS()
	err = fs.WalkDir(files, clean, func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && file != clean && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		data, cut, err := folder.ReadHead(files, file, maxCopiedBytes)
		if err != nil {
			return err
		}
		c.files++
		c.bytes += len(data)
		if cut || c.files > maxCopied || c.bytes > maxCopiedBytes {
			return value.Errorf(value.Limit, "a test can copy at most %d files and %d MB", maxCopied, maxCopiedBytes>>20)
		}
		return writeIn(c.to, strings.TrimPrefix(strings.TrimPrefix(file, without), "/"), data)
	})
	if err != nil && value.KindOf(err) != value.Limit && value.KindOf(err) != value.Invalid {
		return value.Errorf(value.Failed, "copy %s: %w", name, folder.Cause(err))
	}
	return err
}

// readFile reads a file of the project.
func (x *test) readFile(name string) (value.Value, error) {
	root, err := os.OpenRoot(x.slot.project())
	if err != nil {
		return nil, value.Errorf(value.Failed, "open the folder of the test: %w", folder.Cause(err))
	}
	defer root.Close()
	data, err := root.ReadFile(path.Clean(name))
	if err != nil {
		return nil, value.Errorf(value.Failed, "read %s: %w", name, folder.Cause(err))
	}
	if utf8.Valid(data) {
		return string(data), nil
	}
	return data, nil
}

// listFiles lists the files of the project.
func (x *test) listFiles() (value.List, error) {
	list := value.List{}
	err := fs.WalkDir(os.DirFS(x.slot.project()), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			list = append(list, name)
		}
		return err
	})
	return list, err
}

// golden compares a value with a golden file, or writes the file.
func (x *test) golden(name string, v value.Value) error {
	if name == "" || strings.Trim(name, letters) != "" || strings.HasPrefix(name, ".") {
		return value.Errorf(value.Invalid, "invalid name of a golden value: %q", name).WithHint("use letters, digits, -, _ and .")
	}
	text, ok := v.(string)
	if !ok {
		text = value.FormatJSON(v, "  ") + "\n"
	}
	file := path.Join(x.data, name+".golden")
	if x.slot.suite.opts.Update {
		return x.slot.suite.files.writeData(file, []byte(text), 0o644)
	}
	want, err := x.slot.suite.files.readData(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return value.Errorf(value.Failed, "the golden value %s does not exist", name).WithHint("to write it, type: cassidy test --update")
	case err != nil:
		return value.Errorf(value.Failed, "read the golden value %s: %w", name, folder.Cause(err))
	case string(want) != text:
		return value.Errorf(value.Failed, "the value differs from the golden value %s (-want +got):\n%s", name, Diff(string(want), text)).WithHint("if the new value is right, type: cassidy test --update")
	}
	return nil
}

// readData reads a file of test data. Links must not lead out of the folder.
func (f *files) readData(name string) ([]byte, error) {
	root, err := os.OpenRoot(f.dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	data, cut, err := folder.ReadHead(root.FS(), name, maxCopiedBytes)
	if err == nil && cut {
		return nil, value.Errorf(value.Limit, "the file is larger than %d MB", maxCopiedBytes>>20)
	}
	return data, err
}

// writeData writes a file of test data. One that exists loses the permissions that are not in mode, before it is
// written. Links must not lead out of the folder.
func (f *files) writeData(name string, data []byte, mode fs.FileMode) error {
	root, err := os.OpenRoot(f.dir)
	if err == nil {
		defer root.Close()
		err = root.MkdirAll(path.Dir(name), 0o755)
	}
	if err == nil {
		if info, missing := root.Stat(name); missing == nil && info.Mode().Perm()&^mode != 0 {
			err = root.Chmod(name, info.Mode().Perm()&mode)
		}
	}
	if err == nil {
		err = root.WriteFile(name, data, mode)
	}
	if err != nil {
		return value.Errorf(value.Failed, "write %s: %w", name, folder.Cause(err))
	}
	return nil
}

// A replay has the results of effects of a recorded run.
type replay struct {
	name  string
	file  string // in the folder of the suite
	steps []fixture.Step
	used  []bool
	real  bool // the next call is recorded
	old   bool // the fixture exists
	wrote bool // the fixture was recorded by this test
}

// setReplay reads a fixture, unless the next call records it.
func (x *test) setReplay(name string) error {
	if !fs.ValidPath(name) || name == "." || strings.Contains(name, `\`) {
		return value.Errorf(value.Invalid, "invalid name of a fixture: %q", name).WithHint("name a file in .cassidy/tests, such as fetch.json")
	}
	r := &replay{name: name, file: path.Join(x.slot.suite.files.data, name)}
	x.recorded = r
	suite := x.slot.suite
	data, err := suite.files.readData(r.file)
	r.old = !errors.Is(err, fs.ErrNotExist)
	if suite.opts.Record != nil {
		if r.real = !r.old || suite.selective(); r.real {
			return nil
		}
		suite.keep(name)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return value.Errorf(value.Failed, "the fixture %s does not exist", name).WithHint("to record it, type: cassidy test --record --filter '%s$'", x.Name)
	case err != nil:
		return value.Errorf(value.Failed, "read the fixture %s: %w", name, folder.Cause(err))
	}
	f, err := fixture.Parse(data)
	if err != nil {
		return err
	}
	r.steps, r.used = f.Steps, make([]bool, len(f.Steps))
	return nil
}

// replayed returns the recorded outcome of an effect.
func (x *test) replayed(e tool.Effect) (out tool.Outcome, done bool, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	r := x.recorded
	if r == nil {
		return out, false, nil
	}
	i := -1
	for n := range r.steps {
		step := &r.steps[n]
		if !r.used[n] && step.End != nil && step.Func == e.Func && value.Equal(step.Args.OrEmpty(), e.Args.OrEmpty()) {
			i = n
			break
		}
	}
	if i < 0 {
		return out, false, nil
	}
	r.used[i] = true
	if end := r.steps[i].End; end.Err != nil {
		return out, true, end.Err
	}
	return tool.Outcome{Value: r.steps[i].End.Value}, true, nil
}

// record makes a call for real, if the test records a fixture, and writes the fixture. The test then
// makes the call again with the results of the fixture, as later tests do.
func (x *test) record(ctx context.Context, r Recording) error {
	do := x.slot.suite.opts.Record
	x.mu.Lock()
	to := x.recorded
	x.mu.Unlock()
	if do == nil || to == nil || !to.real {
		return nil
	}
	if to.wrote {
		return value.Errorf(value.Failed, "the fixture %s has one call, but the test makes another one", to.name).WithHint("write t.replay with another name before each call")
	}
	r.Fixture, r.Replaces = to.file, to.old
	f, err := do(ctx, r)
	if err == nil {
		err = x.slot.suite.files.writeData(to.file, f.Format(), fixture.Mode)
	}
	if err != nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	to.wrote, to.steps, to.used = true, f.Steps, make([]bool, len(f.Steps))
	return nil
}
