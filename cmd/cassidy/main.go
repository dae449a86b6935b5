// Cassidy runs tools for language models, in a sandbox.
package main

import (
	"os"

	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/app"
	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/keyring"
	"github.com/cassidy-run/cassidy/sandbox"
	"github.com/cassidy-run/cassidy/stdlib"
)

func main() {
	sandbox.Main(stdlib.Pure()...) // in a worker it does not return
	boundMemory()
	ctx, interrupts := app.CatchInterrupts()
	os.Exit(Main(ctx, os.Args[1:], &app.World{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Env: os.LookupEnv, Interrupts: interrupts, Keyring: keyring.System(os.LookupEnv),
	}))
}
