package stdlib

import (
	"fmt"
	"os"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

// A file of /proc says that it holds nothing, however much it gives.
func TestF07AFileThatGivesMoreThanItSays(t *testing.T) {
	d := deskAt(t, &Options{Root: fmt.Sprintf("/proc/%d", os.Getpid()), Limits: FileLimits{Read: 100}})
	if size := d.must("fs.stat", "path", "maps").(*tool.Dict).Int("size", -1); size != 0 {
		t.Fatalf("maps says that it holds %d bytes: this tests nothing", size)
	}
	d.fails(tool.Limit, "maps is larger than 100 bytes", "fs.read_bytes", "path", "maps")
}

// The links of /proc lead anywhere, whatever they read as.
func TestF03LinksOfProc(t *testing.T) {
	d := deskAt(t, &Options{Root: fmt.Sprintf("/proc/%d", os.Getpid())})
	d.fails(tool.Security, "leads out", "fs.list", "path", "cwd")
	d.fails(tool.Security, "leads out", "fs.list", "path", "root")
	d.fails(tool.Security, "leads out", "fs.read", "path", "root/etc/passwd")
	d.fails(tool.Security, "leads out", "fs.read", "path", "exe")
}
