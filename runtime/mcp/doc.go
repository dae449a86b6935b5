// Package mcp serves the tools of a host to clients of the Model Context Protocol
// (modelcontextprotocol.io), over standard input and output or over HTTP. Every call passes
// the host, with its checks, approvals and records.
//
// A [Server] speaks the protocol's versions up to 2025-11-25, which have sessions, and
// 2026-07-28, which has none, at the same address.
package mcp
