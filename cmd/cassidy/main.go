// Cassidy runs tools for language models, in a sandbox.
package main

import "github.com/cassidy-run/cassidy/cmd/internal/command"

func main() { command.Execute(nil) }
