// Package serve shares the runs of one or more projects with a team: a [Server] executes the runs
// that are due, and lets people begin, watch, answer and undo runs over HTTP.
//
// A program mounts [Server.Handler] in its own server, calls [Server.Run] in a goroutine, and
// [Server.Shutdown] before it closes the hosts. The command cassidy serve does no more than that.
// The API is described at /openapi.json. Each route has a least [Role]; what the server does for a
// person passes the host, which asks, refuses and records as it does for everybody else.
package serve
