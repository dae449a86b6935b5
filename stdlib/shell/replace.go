package shell

import (
	"reflect"
	"slices"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A ruleSet is the rules for commands at one time. It does not change.
type ruleSet struct {
	rules  map[string]Rule
	former []map[string]Rule // those before, the last ones last
}

// maxFormer is how many former rules are kept.
const maxFormer = 32

// CheckRules fails with kind Invalid for a rule that cannot hold, as one whose path is not absolute.
func CheckRules(rules map[string]Rule) error {
	for name, rule := range rules {
		if err := rule.valid(name); err != nil {
			return err
		}
	}
	return nil
}

// Replace replaces the rules by others, which [CheckRules] accepts. They hold for commands that are run
// later. Replace must not be called concurrently.
func (c *Commands) Replace(rules map[string]Rule) {
	now := c.rules.Load()
	if len(now.rules)+len(rules) == 0 || reflect.DeepEqual(now.rules, rules) {
		return
	}
	former := append(slices.Clone(now.former), now.rules)
	c.rules.Store(&ruleSet{rules, former[max(0, len(former)-maxFormer):]})
}

// wasLess reports whether a command that is run as any command line now could run as less by former
// rules. The capabilities that it takes may then have been checked with those.
func (c *Commands) wasLess(set *ruleSet, argv []string, dir string) bool {
	return slices.ContainsFunc(set.former, func(rules map[string]Rule) bool {
		way, err := c.wayBy(rules, argv, dir)
		return err == nil && !way.line
	})
}

// check checks a further capability of a command.
func check(g tool.Grant, c tool.Capability) error {
	if g.Check == nil {
		return value.Errorf(value.Denied, "%s is not granted", c)
	}
	return g.Check(c)
}
