package value

// Internals of the binary and the printed form for tests.
const (
	TagNil        = tagNil
	TagTrue       = tagTrue
	TagInt        = tagInt
	TagBig        = tagBig
	TagFloat      = tagFloat
	TagString     = tagString
	TagBytes      = tagBytes
	TagList       = tagList
	TagTuple      = tagTuple
	TagSet        = tagSet
	TagDict       = tagDict
	LayoutWidth   = layoutWidth
	LinearEntries = linearEntries
)
