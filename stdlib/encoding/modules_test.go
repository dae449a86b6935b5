package encoding

import "github.com/cassidy-run/cassidy/runtime/tool"

func modules() []tool.Module {
	return []tool.Module{JSON(), YAML(), CSV(), Hash(), Base64(), Media(), URL()}
}
