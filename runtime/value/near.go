package value

import "strings"

// DidYouMean returns `; did you mean "x"?` for the nearest of the valid names,
// or "" where none is near.
func DidYouMean(got string, valid []string) string {
	return didYouMean(Nearest(got, valid))
}

func didYouMean(name string) string {
	if name == "" {
		return ""
	}
	return `; did you mean "` + name + `"?`
}

// longestName is how long a name may be to be compared with others: what is
// longer is no slip of the fingers.
const longestName = 200

// Nearest returns the valid name with the fewest edits from got, if they are
// at most a third of its letters (and at least one), or that got abbreviates.
func Nearest(got string, valid []string) string {
	if got == "" || len(got) > longestName {
		return ""
	}
	lower := strings.ToLower(got)
	best, bestDistance := "", max(1, len(got)/3)+1
	for _, v := range valid {
		d := editDistance(lower, strings.ToLower(v), bestDistance)
		if d < bestDistance && d < max(len(got), len(v)) { // and not all of it
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

// editDistance is the Levenshtein distance of two short names, or limit if it
// is not smaller.
func editDistance(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit || len(b) > longestName {
		return limit
	}
	var buf [longestName + 1]int
	row := buf[:len(b)+1]
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := diagonal
			if a[i-1] != b[j-1] {
				cost = 1 + min(diagonal, row[j], row[j-1])
			}
			diagonal, row[j] = row[j], cost
		}
	}
	return min(row[len(b)], limit)
}
