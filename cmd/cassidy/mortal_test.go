package main

import (
	"io"
	"os"
	"strconv"
	"sync"
)

// asMortal, in the environment, has the test binary be the command, and die
// right before it writes so many lines: between what an event tells of and its
// record.
const asMortal = "CASSIDY_TEST_DIES_AT"

func mortalProcess() int {
	left, err := strconv.Atoi(os.Getenv(asMortal))
	if err != nil {
		panic(err)
	}
	ctx, interrupts := catchInterrupts()
	return Main(ctx, os.Args[1:], &world{
		in: os.Stdin, out: &deadly{w: os.Stdout, left: left}, err: os.Stderr, env: os.LookupEnv, interrupts: interrupts,
	})
}

// A deadly writer kills the process that writes to it too often.
type deadly struct {
	w    io.Writer
	mu   sync.Mutex
	left int
}

func (d *deadly) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.left--; d.left == 0 {
		self, err := os.FindProcess(os.Getpid())
		if err == nil {
			err = self.Kill() // SIGKILL, which nothing can put off
		}
		if err != nil {
			panic(err)
		}
		select {}
	}
	return d.w.Write(p)
}
