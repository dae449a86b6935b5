package table

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func TestFileTooLarge(t *testing.T) {
	t.Parallel()
	reads := 0
	sized := func(size int64) tool.Grant {
		return tool.Grant{Do: func(name string, _ *value.Dict) (tool.Outcome, error) {
			if name == "fs.stat" {
				return tool.Outcome{Value: value.NewDict("kind", "file", "size", size, "modified", "")}, nil
			}
			reads++
			return tool.Outcome{}, value.Errorf(value.Failed, "nothing is read")
		}}
	}
	if in, err := openFile(context.Background(), sized(maxFile), "big.csv"); err != nil || in.size != maxFile {
		t.Errorf("a file of 2 GB: %v, %v", in, err)
	}
	_, err := openFile(context.Background(), sized(maxFile+1), "big.csv")
	e := value.ErrorOf(err, value.Failed)
	if err == nil || e.Kind != value.Limit || e.Message() != "big.csv is larger than the limit of 2 GB" || !strings.Contains(e.Hint, "split") || reads > 0 {
		t.Errorf("a larger file: %v (hint %q) after %d reads", err, e.Hint, reads)
	}
}

// TestFileIsChecked counts the checks of a file: when it is opened, at the end of each
// pass, and at the start of each pass but the first.
func TestFileIsChecked(t *testing.T) {
	t.Parallel()
	content := []byte("a,b\n" + strings.Repeat("1,x"+strings.Repeat(" ", 60)+"\n", (maxHeld>>6)+10))
	checks, modified := 0, "then"
	g := tool.Grant{Do: func(name string, args *value.Dict) (tool.Outcome, error) {
		if name == "fs.stat" {
			checks++
			return tool.Outcome{Value: value.NewDict("kind", "file", "size", int64(len(content)), "modified", modified)}, nil
		}
		at := args.Int("offset")
		return tool.Outcome{Value: bytes.Clone(content[at : at+args.Int("length")])}, nil
	}}
	in, err := openFile(context.Background(), g, "a.csv")
	if err != nil {
		t.Fatal(err)
	}
	u, err := readCSV(context.Background(), g, in, csvOptions())
	if err != nil || checks != 2 {
		t.Fatalf("read: %v, after %d checks, want 2", err, checks)
	}
	pass := func() error {
		return u.each(context.Background(), g, func(*Batch) error { return nil })
	}
	if err := pass(); err != nil || checks != 4 {
		t.Errorf("a pass: %v, after %d checks, want 4", err, checks)
	}
	modified = "now"
	if err := pass(); err == nil || !strings.Contains(err.Error(), "changed") {
		t.Errorf("a pass over a changed file: %v", err)
	}
}
