// Package agent lets a language model work on tasks by calling the tools of a host. A policy,
// which is a script in Starlark, controls when the model is asked and its calls are made.
//
// [New] makes an [Agent]. Its [Agent.Run] does one task; a [Session] is a conversation of
// several turns, which a host with a store records, so that it survives the process.
//
// A turn is a message of the user, and everything that the model does until it answers. In
// each iteration of a turn, the model is asked once, and its reply is read as decisions: calls
// of tools, or the answer; see package decision. On a host with a store, a turn is a recorded
// run, see package runtime/host.
package agent
