package shell

import (
	"fmt"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestReplace replaces the rules of a command between the check of its capabilities and its run.
func TestReplace(t *testing.T) {
	t.Parallel()
	d := confined(t, nil, map[string]Rule{"echo": {Args: []string{"*"}}, "mkfifo": {Any: true}})
	argv := value.NewDict("argv", line("mkfifo --version"), "cwd", ".")
	takes := func() string {
		list, err := d.commands.target(argv)
		return fmt.Sprint(list, err)
	}
	if got := takes(); got != "[shell:mkfifo] <nil>" {
		t.Errorf("by its rule the command takes %s", got)
	}
	d.commands.Replace(nil)
	if got := takes(); got != "[shell:mkfifo shell:sh] <nil>" {
		t.Errorf("without its rule the command takes %s", got)
	}
	check := func(c tool.Capability) error { return value.Errorf(value.Denied, "%s is denied", c) }
	run := func() error {
		_, err := d.commands.run(t.Context(), tool.Effect{Func: "shell.run", Args: argv}, tool.Grant{Check: check, Stage: d.Stage})
		return err
	}
	if err := run(); value.KindOf(err) != value.Denied || value.ErrorOf(err, value.Failed).Message() != "shell:sh is denied" {
		t.Errorf("a command whose capabilities were checked by former rules: %v", err)
	}
	d.commands.Replace(map[string]Rule{"mkfifo": {Any: true}})
	if err := run(); err != nil {
		t.Errorf("with its rule: %v", err)
	}
	for i := range 2 * maxFormer {
		d.commands.Replace(map[string]Rule{"mkfifo": {Any: true, Env: map[string]string{"N": fmt.Sprint(i)}}})
	}
	if n := len(d.commands.rules.Load().former); n != maxFormer {
		t.Errorf("%d former rules are kept", n)
	}
	if err := CheckRules(map[string]Rule{"mkfifo": {Any: true, Path: "relative"}}); value.KindOf(err) != value.Invalid {
		t.Errorf("a relative path: %v", err)
	}
}
