package value

import (
	"slices"
	"strings"
)

// DidYouMean returns `; did you mean "x"?` for the nearest of the valid names, or "" if
// no name is near. It lists several names that are equally near.
func DidYouMean(got string, valid []string) string {
	names := Similar(got, valid)
	if len(names) == 0 {
		return ""
	}
	return `; did you mean "` + strings.Join(names, `" or "`) + `"?`
}

// longestName is the longest name that is compared with others. A longer one is not a
// typo.
const longestName = 200

// Nearest returns the first of the names that [Similar] returns, or "".
func Nearest(got string, valid []string) string {
	if names := Similar(got, valid); len(names) > 0 {
		return names[0]
	}
	return ""
}

// maxSimilar is how many names are suggested.
const maxSimilar = 3

// Similar returns the first three valid names with the fewest edits from got. The number of edits is
// at most a third of the letters, but at least one. Otherwise it returns the first name that
// contains got or is contained in it, or nil.
func Similar(got string, valid []string) []string {
	if got == "" || len(got) > longestName {
		return nil
	}
	lower := strings.ToLower(got)
	var best []string
	limit := max(1, len(got)/3)
	for _, v := range valid {
		d := editDistance(lower, strings.ToLower(v), limit+1)
		if d > limit || d >= max(len(got), len(v)) { // not every letter replaced
			continue
		}
		if d < limit {
			limit, best = d, nil
		}
		if len(best) < maxSimilar && !slices.Contains(best, v) {
			best = append(best, v)
		}
	}
	if best == nil && len(got) >= 3 {
		for _, v := range valid {
			if strings.Contains(v, got) || (len(v) >= 3 && strings.Contains(got, v)) {
				return []string{v}
			}
		}
	}
	return best
}

// editDistance is the number of letters to insert, remove, replace or swap with the next
// one between two short names, or limit if it is not smaller.
func editDistance(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit || len(b) > longestName {
		return limit
	}
	var rows [3][longestName + 1]int // for the last three letters of a
	for j := range len(b) + 1 {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		row, above := &rows[i%3], &rows[(i+2)%3]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			row[j] = above[j-1]
			if a[i-1] != b[j-1] {
				row[j] = 1 + min(above[j-1], above[j], row[j-1])
			}
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], 1+rows[(i+1)%3][j-2])
			}
		}
	}
	return min(rows[len(a)%3][len(b)], limit)
}
