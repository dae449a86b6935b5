// Package tool defines the words of cassidy: tools, calls, results, effects,
// events and capabilities.
//
// A [Tool] is a name, a typed signature, the capabilities that it needs and,
// elsewhere, a script or a Go function. A [Call] asks for one; a [Result]
// answers. While a script runs it can compute but not act: to act it asks for
// an [Effect], which an [Effector] carries out and answers with an [Outcome].
// What happens is told as an [Event]. Everything that crosses a border, between
// a script and its host, between processes, or between a run and its record,
// is a [Value], and one codec ([Append], [Decode]) writes it without loss. [FromGo] and
// [ToGo] convert between values and the types of a Go program.
//
// The package knows no files, no network, no scripting language and no clock.
package tool
