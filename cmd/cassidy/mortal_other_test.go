//go:build !linux

package main

// asMortal and mortalProcess are for the tests of Linux.
const asMortal = "CASSIDY_TEST_DIES_AT"

func mortalProcess() int { panic("only on Linux") }
