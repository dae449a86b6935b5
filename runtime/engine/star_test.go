package engine_test

import "github.com/cassidy-run/cassidy/runtime/tool"

func starModules(counts map[string]int) []tool.Module {
	return []tool.Module{
		{Name: "fs", Funcs: []tool.Func{{Name: "read", Params: []tool.Param{{Name: "path", Type: tool.Type{Name: tool.TypeString}, Required: true}}, Class: tool.Read}}},
	}
}
