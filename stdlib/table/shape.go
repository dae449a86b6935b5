package table

func shapeRows() []row { return nil }
