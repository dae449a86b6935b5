package value

// What tests of the binary and the printed form look at.
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
