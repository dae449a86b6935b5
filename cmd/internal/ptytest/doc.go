// Package ptytest opens terminals for the tests of questions. It is empty on other systems
// than Linux.
package ptytest
