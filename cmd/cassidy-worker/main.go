// Cassidy-worker is the process in which scripts run, for programs that are not their own
// worker: name it in sandbox.Workers.Program. It can only compute.
package main

import (
	"fmt"
	"os"

	"github.com/cassidy-run/cassidy/sandbox"
	"github.com/cassidy-run/cassidy/stdlib"
)

func main() {
	sandbox.Main(stdlib.Pure()...) // does not return if a host has started it
	fmt.Fprintln(os.Stderr, "cassidy-worker: only a host can start this program\ncassidy-worker: hint: set sandbox.Workers.Program, or CASSIDY_WORKER for the cassidy command, to the path of this program")
	os.Exit(2)
}
