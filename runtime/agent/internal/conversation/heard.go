package conversation

// maxHeard is the limit of the kept outputs of tools, in bytes. It is more than a conversation can
// hold.
const maxHeard = 4 << 20

// Hear adds the output of a tool to those of a conversation, of which it keeps the last ones: if
// the model repeats a call from one, that is a quotation.
func Hear(heard []string, text string) []string {
	if text == "" {
		return heard
	}
	heard = append(heard, text)
	size := 0
	for i := len(heard) - 1; i >= 0; i-- {
		if size += len(heard[i]); size > maxHeard {
			return heard[i+1:]
		}
	}
	return heard
}
