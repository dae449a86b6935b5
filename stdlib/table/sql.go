package table

func sqlRows() []row { return nil }
