package table

import "slices"

// writeRows are the methods that write a table as text.
func writeRows() []member { return slices.Concat(csvWriteRows(), jsonWriteRows()) }
