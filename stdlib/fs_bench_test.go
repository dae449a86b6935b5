package stdlib

import (
	"context"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

func BenchmarkRead(b *testing.B) {
	d := newDesk(b, map[string]string{"a/b/file": strings.Repeat("x", 4096)})
	f := d.row("fs.read")
	args := tool.NewDict("path", "a/b/file")
	for b.Loop() {
		if _, err := f.Do(context.Background(), tool.Effect{Args: args}, tool.Grant{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkWriteAndCommit(b *testing.B) {
	d := newDesk(b, map[string]string{"a/b/file": ""})
	for i := 0; b.Loop(); i++ {
		d.must("fs.write", "path", "a/b/file", "content", strings.Repeat("x", i%4096))
		d.commit()
	}
}
