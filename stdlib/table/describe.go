package table

func describeRows() []row { return nil }
