// Package agent lets a language model work on tasks by calling the tools of a host. A policy,
// which is a script in Starlark, controls when the model is asked and its calls are made.
//
// [New] makes an [Agent]. Its [Agent.Run] does one task; a [Session] is a conversation of
// several turns, which a host with a store records, so that it survives the process.
package agent
