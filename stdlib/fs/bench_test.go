package fs

import (
	"context"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func BenchmarkRead(b *testing.B) {
	d := newProject(b, map[string]string{"a/b/file": strings.Repeat("x", 4096)})
	f := d.Func("fs.read")
	args := value.NewDict("path", "a/b/file")
	for b.Loop() {
		if _, err := f.Do(context.Background(), tool.Effect{Args: args}, tool.Grant{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkWriteAndCommit is a call that writes one file: each has a stage of its
// own, since what one call may change is limited.
func BenchmarkWriteAndCommit(b *testing.B) {
	d := newProject(b, map[string]string{"a/b/file": ""})
	for i := 0; b.Loop(); i++ {
		d.Stage = &tool.Stage{}
		d.Must("fs.write", "path", "a/b/file", "content", strings.Repeat("x", i%4096))
		d.commit()
	}
}
