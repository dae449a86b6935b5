//go:build unix

package launch_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/sandbox/launch"
)

// Run a command that reads nothing but the system's own programs and libraries. The main
// of this program begins with sandbox.Main(stdlib.Pure()...).
func ExampleRun() {
	var out strings.Builder
	exit, err := launch.Run(context.Background(), &tool.Process{
		Path: "/bin/sh", Args: []string{"-c", "echo hello; exit 3"}, Dir: "/", Stdout: &out,
	})
	fmt.Println(strings.TrimSpace(out.String()), exit, err)
	// Output: hello 3 <nil>
}
