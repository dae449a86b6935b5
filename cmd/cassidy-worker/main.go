// Cassidy-worker is the process in which scripts run, for programs that are not
// their own worker: name it in sandbox.Workers.Program. It can compute and do
// nothing else.
package main

import (
	"fmt"
	"os"

	"github.com/cassidy-run/cassidy/sandbox"
	"github.com/cassidy-run/cassidy/stdlib"
)

func main() {
	sandbox.Main(stdlib.Pure()...) // does not return where a host has started it
	fmt.Fprintln(os.Stderr, "cassidy-worker: a host starts this program: name it in sandbox.Workers.Program, or in CASSIDY_WORKER for the cassidy command")
	os.Exit(2)
}
