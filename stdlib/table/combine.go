package table

func combineRows() []row { return nil }
