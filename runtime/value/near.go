package value

import "strings"

// DidYouMean returns `; did you mean "x"?` for the nearest of the valid names, or "" if
// no name is near.
func DidYouMean(got string, valid []string) string {
	return didYouMean(Nearest(got, valid))
}

func didYouMean(name string) string {
	if name == "" {
		return ""
	}
	return `; did you mean "` + name + `"?`
}

// longestName is the longest name that is compared with others. A longer one is not a
// typo.
const longestName = 200

// Nearest returns the valid name with the fewest edits from got. The number of edits is
// at most a third of the letters, but at least one. Otherwise it returns a name that
// contains got or is contained in it, or "".
func Nearest(got string, valid []string) string {
	if got == "" || len(got) > longestName {
		return ""
	}
	lower := strings.ToLower(got)
	best, bestDistance := "", max(1, len(got)/3)+1
	for _, v := range valid {
		d := editDistance(lower, strings.ToLower(v), bestDistance)
		if d < bestDistance && d < max(len(got), len(v)) { // not every letter replaced
			best, bestDistance = v, d
		}
	}
	if best == "" && len(got) >= 3 {
		for _, v := range valid {
			if strings.Contains(v, got) || (len(v) >= 3 && strings.Contains(got, v)) {
				return v
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
