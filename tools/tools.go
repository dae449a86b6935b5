// Package tools holds the built-in tools (*.star, embedded).
//
// To add one, add its file here and its cases to testdata: no Go is needed.
package tools

import (
	"embed"
	"io/fs"
)

//go:embed *.star
var files embed.FS

// FS returns the files of the built-in tools.
func FS() fs.FS { return files }

// Presets returns the named selections of built-in tools. "all" is every tool
// and needs no row.
func Presets() map[string][]string {
	return map[string][]string{
		"read_only":       {"read_file", "read_files", "list_files", "search_files", "describe_data", "query_data", "chart_data", "get_context"},
		"code_analysis":   {"read_file", "list_files", "search_files", "get_context"},
		"data_analysis":   {"describe_data", "query_data", "chart_data", "list_files", "get_context"},
		"code_generation": {"read_file", "list_files", "write_file", "get_context"},
	}
}
