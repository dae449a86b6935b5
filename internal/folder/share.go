package folder

import (
	"cmp"
	"slices"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// A project is read before anybody has reviewed it, and a file is parsed into many times its size. So what
// is parsed of one project is bounded: each of its folders has a fixed share. The share does not depend on other folders,
// and not on the command, so that the same files are read by all of them. They are far above honest projects: ten thousand
// tools have 10 MB.
const (
	ToolsShare = 16 << 20 // bytes of the tools
	OtherShare = 4 << 20  // bytes of the workflows, of the policies, of the skills, and of the agent files
)

// Over returns which files exceed a share, by their sizes. Smaller files are read first, and files of one size in
// their order: so a large file never displaces a smaller one, whatever it is called. Files that are larger than
// [MaxSource] do not count: they are rejected unread.
func Over(sizes []int64, share int64) []bool {
	over := make([]bool, len(sizes))
	total := int64(0)
	for _, n := range sizes {
		if n <= MaxSource {
			total += n
		}
	}
	if total <= share {
		return over
	}
	order := make([]int, len(sizes))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(sizes[a], sizes[b]) })
	total = 0
	for _, i := range order {
		total += sizes[i]
		over[i] = total > share && sizes[i] > 0 && sizes[i] <= MaxSource
	}
	return over
}

// OverShare returns the error of a file that exceeds a share.
func OverShare(share int64) *value.Error {
	return value.Limitf(value.LimitSource, "the file is not read: the folder has more than %d MB of such files, and smaller files are read first", share>>20).
		WithHint("delete files that are not needed, or make this one shorter")
}
