// Package tool defines the words of cassidy: tools, calls, results, effects,
// events and capabilities.
//
// A [Tool] is a name, a typed signature, the capabilities that it needs and,
// elsewhere, a script or a Go function. A [Call] asks for one; a [Result]
// answers. While a script runs it can compute but not act: to act it asks for
// an [Effect], which an [Effector] carries out and answers with an [Outcome].
// What happens is told as an [Event]. Arguments and results are values, see package
// value.
//
// The package knows no files, no network, no scripting language and no clock.
package tool
