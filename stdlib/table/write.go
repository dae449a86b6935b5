package table

func writeRows() []row { return nil }
