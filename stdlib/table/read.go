package table

func readRows() []row { return nil }
