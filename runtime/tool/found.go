package tool

// A Found is a tool that a search of a folder came upon: what its file
// declares, and the way to its source, which is read on the first call.
type Found struct {
	Tool Tool
	Load func() (Script, error)
}
