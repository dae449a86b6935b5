// Cassidy runs tools for language models, in a sandbox.
package main

import (
	"os"
	"runtime/debug"

	"github.com/cassidy-run/cassidy/sandbox"
	"github.com/cassidy-run/cassidy/stdlib"
)

func main() {
	sandbox.Main(stdlib.Pure()...) // in a worker it does not return
	// The command lives for a moment: collecting garbage less often saves a
	// tenth of the time it takes to list ten thousand tools.
	debug.SetGCPercent(400)
	ctx, interrupts := catchInterrupts()
	os.Exit(Main(ctx, os.Args[1:], &world{
		in: os.Stdin, out: os.Stdout, err: os.Stderr, env: os.LookupEnv, interrupts: interrupts,
	}))
}
