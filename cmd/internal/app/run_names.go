package app

import (
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// maxRunName is the maximum length of the ID of a run.
const maxRunName = 64

// checkRunName refuses an ID that cannot name a run.
func checkRunName(id string) error {
	switch {
	case id == LastRun:
		return value.Errorf(value.Invalid, "invalid run ID %q: this name is reserved for the newest run", id).WithHint("use another ID, as in report-1")
	case len(id) > maxRunName:
		return value.Errorf(value.Invalid, "invalid run ID: %d characters, but the maximum is %d", len(id), maxRunName).WithHint("use a shorter ID, as in report-1")
	case strings.Trim(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") != "":
		return value.Errorf(value.Invalid, "invalid run ID %q: expected letters, digits, - and _", id).WithHint("use an ID such as report-1")
	}
	return nil
}

// RunID returns the ID that the flag --run-id gives, or "" without the flag.
func RunID(ctx *cli.Context) (string, error) {
	id := ctx.String("run-id")
	if id == "" && ctx.IsSet("run-id") {
		return "", value.Errorf(value.Invalid, "--run-id is empty").WithHint("use an ID such as report-1, or leave out --run-id")
	}
	return id, checkRunName(id)
}

// LastRun names the newest run in place of its ID.
const LastRun = "last"

// DirOption is the name under which the folder to work in is recorded with a run.
const DirOption = "dir"
