// Cassidy-temporal is cassidy with runs that Temporal records, and that workers on many machines execute: cassidy starts it when
// the engine of its config is temporal.
package main

import (
	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/command"
)

func main() { command.Execute(func(w *app.World) { w.Deploy, w.Exec = deploy, nil }) }
