package app

import (
	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/ui"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// A Live is a line on standard error that says how far a command is. It is gone when the command prints its result. Where
// standard error is not a terminal, nothing is shown.
type Live struct {
	a       *App
	spinner *ui.Spinner
	stop    func()
}

// Live returns a line that says nothing yet.
func (a *App) Live() *Live {
	l := &Live{a: a, spinner: a.NewSpinner()}
	l.stop = a.Screen.Spin(l.spinner)
	return l
}

// Shown reports whether there is such a line.
func (l *Live) Shown() bool { return l.spinner != nil }

// Wait says what the command waits for now.
func (l *Live) Wait(text string) { l.hold(func() { l.spinner.Wait(text) }) }

// Print prints something in place of the line, which comes again below it.
func (l *Live) Print(print func()) {
	l.hold(func() {
		l.spinner.Erase()
		print()
	})
}

// End removes the line. Nothing is shown after that.
func (l *Live) End() {
	l.stop()
	l.stop = func() {}
}

// hold does something while nothing else is shown.
func (l *Live) hold(do func()) { l.a.Screen.Add(tool.Event{}, func(tool.Event) { do() }) }
