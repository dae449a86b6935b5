// Package stdlib is what scripts can use: pure functions, and effects on files,
// the network, the clock and the environment.
//
// Each function is one row, a [tool.Func]: its name, its words for a reader,
// its parameters and what it does. The bindings for every language, the gate,
// the reference page and the fakes of tests all come from that row, so to add a
// function is to add a row.
//
// The pure functions ([Pure]) compute from their arguments and nothing else.
// They run in the script's own process, under its limits, so that hostile data
// never burns the host. They give the same to every language: a whole number
// does for an integer even where all numbers are floats, text and bytes do for
// one another where either makes sense, and nothing depends on the machine's
// clock, zone or locale. What could make much out of little is bounded: a text of
// 8 MB, a list of half a million values.
//
// The effects act on the world and run in the host. A row that does so says
// which capabilities a call takes (Target) and what would take it back (the
// Undo of its outcome).
//
// What http asks for goes to the host that was granted, and to an address of
// the public internet: the name is brought into one form before it is matched,
// and the address is judged when the system is about to connect to it. Secrets
// are placeholders in scripts; their values are put in last, for the host that
// they are meant for, and taken out of whatever comes back.
package stdlib
