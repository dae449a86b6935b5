// Package tool defines the types that all parts of cassidy share: tools, calls, results,
// effects, events, questions, capabilities and rules.
//
// A [Tool] is a name, a typed signature, the capabilities that it needs and,
// elsewhere, a script or a Go function. A [Call] asks for one; a [Result]
// answers. While a script runs it can compute but not act: to act it asks for
// an [Effect], a call of a [Func] of a [Module], which an [Effector] executes and
// answers with an [Outcome]. What happens is reported as an [Event]. Arguments and
// results are values, see package value. Package runtime/host runs tools and decides
// what they may do.
//
// The package does not use files, the network, a scripting language or the clock.
// Except for a [Stage], its types can be read concurrently, and must not be changed
// while others use them.
package tool
