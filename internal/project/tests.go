package project

import (
	"path"
	"strings"
)

// testSuffix ends the name of a test file, before the suffix of its language.
const testSuffix = "_test"

// IsTest reports whether a file has tests of the tool or workflow beside it, by its name:
// slug_test.star has those of slug.star, slug.lua or slug.md. A test file is neither a tool nor a
// workflow. It is reviewed like them, since it is code that runs.
func IsTest(name string) bool { return strings.HasSuffix(stemOf(name), testSuffix) }

// Tested returns the name of the tool or workflow that a test file tests.
func Tested(name string) string { return strings.TrimSuffix(stemOf(name), testSuffix) }

func stemOf(name string) string {
	name = path.Base(name)
	return strings.TrimSuffix(name, path.Ext(name))
}
