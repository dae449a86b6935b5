package fs

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/internal/membudget"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// The program that reads Parquet files: cmd/cassidy-parquet, which is a module of its own.
const (
	parquetProgram = "cassidy-parquet"
	parquetModule  = "github.com/cassidy-run/cassidy/cmd/cassidy-parquet"
	parquetPart    = 600 << 10 // bytes of the values in one effect, 8 and more for each: a value of JSON has at most 100,000
	parquetMost    = 8 << 20   // bytes of their JSON, which one effect may carry
	parquetMemory  = 1 << 30   // of the program
	parquetTime    = time.Minute
)

func (w *Files) parquetFunc(file []tool.Param) tool.Func {
	return w.readFunc(w.filePath, readParquet, tool.Func{
		Name: "parquet",
		Doc: "Read rows of a Parquet file, column by column. data.read does this to read such a file as a table. " +
			"The program " + parquetProgram + " must be installed.",
		Params: append(file,
			atLeast(tool.Optional("first", tool.TypeInteger, int64(0), "the first row to read, counted from 0"), 0)),
		Returns: `a dict {"names", "types", "rows", "first", "count", "notes", "columns"} with some of the rows, at least one. ` +
			"A date is the number of days since 1970, a datetime or an instant the number of microseconds",
	})
}

// readParquet has the program read the file, which is opened here: the program can open nothing else.
func readParquet(l *look, args *value.Dict) (value.Value, error) {
	s, err := l.file(args)
	if err != nil {
		return nil, err
	}
	defer s.close()
	shown := l.w.Shown(s.asked)
	program := l.w.parquetProgram()
	switch {
	case s.staged != nil:
		return nil, value.Errorf(value.Failed, "%s was written by this call", shown).WithHint("in a script, read the file in another call")
	case program == "":
		return nil, value.Errorf(value.Unavailable, "read %s: Parquet files need the program %s, which is not installed", shown, parquetProgram).
			WithHint("install it beside cassidy: go install %s@latest; or convert the file to .csv", parquetModule)
	case l.w.launch == nil:
		return nil, value.Errorf(value.Unavailable, "read %s: the program %s cannot be confined on this system", shown, parquetProgram).WithHint("convert the file to .csv")
	}
	f, _, err := s.openDisk()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := membudget.Take(l.ctx, parquetMost); err != nil {
		return nil, err
	}
	path := filepath.Join(l.w.Path(), filepath.FromSlash(s.path))
	out, said := &bounded{most: parquetMost}, &bounded{most: 1 << 10, cut: true}
	exit, err := l.w.launch(l.ctx, &tool.Process{
		Path: program, Args: []string{path, strconv.FormatInt(args.Int("first"), 10), strconv.Itoa(parquetPart)}, Dir: filepath.Dir(program),
		Read: []string{program, path}, Opened: map[string]uintptr{path: f.Fd()}, Timeout: parquetTime, Memory: parquetMemory, Stdout: out, Stderr: said,
	})
	runtime.KeepAlive(f)
	switch {
	case err != nil:
		return nil, err
	case exit != 0:
		_, why, _ := strings.Cut(strings.TrimSpace(said.String()), parquetProgram+": ")
		return nil, value.Errorf(value.Failed, "read %s: %s", shown, value.Clean(why, 200))
	}
	v, err := value.ParseJSON(out.Bytes())
	if err != nil {
		return nil, value.Errorf(value.Failed, "read %s: %s returned invalid JSON: %w", shown, parquetProgram, err)
	}
	return v, nil
}

// parquetProgram returns the path of the program, or "": beside this program, or where the administrator installs programs.
func (w *Files) parquetProgram() string {
	folders := []string{"/usr/local/bin", "/usr/bin", "/opt/homebrew/bin"}
	if own, err := os.Executable(); err == nil {
		folders = append([]string{filepath.Dir(own)}, folders...)
	}
	name := parquetProgram
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	for _, folder := range folders {
		path := filepath.Join(folder, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
	}
	return ""
}

// A bounded is output of at most so many bytes. More is an error, or cut off.
type bounded struct {
	bytes.Buffer
	most int
	cut  bool
}

func (b *bounded) Write(p []byte) (int, error) {
	room := b.most - b.Len()
	if len(p) > room && !b.cut {
		return 0, limitError(value.LimitRead, "a row is larger than the limit of %d MB", b.most>>20).WithHint("convert the file to .csv")
	}
	b.Buffer.Write(p[:min(len(p), room)])
	return len(p), nil
}
