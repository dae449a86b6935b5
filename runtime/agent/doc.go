// Package agent lets a model reach a goal by calling tools, under a policy
// written in Starlark.
package agent
