// Package stdlib is what scripts can use: pure functions, and effects on files,
// the network, the clock, commands and the environment.
//
// Each function is one row, a [tool.Func]: its name, its documentation, its parameters
// and what it does. The bindings for every language, the gate, the reference page and the
// fakes of tests all come from that row, so to add a function is to add a row.
//
// The pure functions ([Pure]) compute from their arguments and nothing else.
// They run in the script's own process, under its limits, so that hostile data
// never costs the host. They return the same to every language: a whole number
// is accepted for an integer even where all numbers are floats, text and bytes are
// accepted for each other where either makes sense, and nothing depends on the machine's
// clock, zone or locale. What a function makes is bounded: a text of 8 MB, a list of half
// a million values. More is an error of kind Limit.
//
// The effects ([Open]) act on the world and run in the host. A row that does so
// names the capabilities that a call takes (Target), and its outcome what would undo it
// (Undo).
//
// Each area is a package below this one, and returns its modules by itself: a program
// that gives scripts files and nothing else imports stdlib/fs alone.
package stdlib
