package text

import "github.com/cassidy-run/cassidy/runtime/tool"

func modules() []tool.Module { return []tool.Module{Text(), Regexp(), HTML(), Diff()} }
