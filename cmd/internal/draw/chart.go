package draw

import (
	"math"
	"slices"
	"strings"
)

// MaxBar is how many cells the longest bar has, and leastBar how many it needs to be worth drawing.
const MaxBar, leastBar = 30, 8

// Bars returns a bar for each number, in at most some cells: from zero, and with the same scale. Where some numbers are
// negative, their bars are at the left of an axis. NaN has no bar.
func (s Screen) Bars(numbers []float64, cells int) []string {
	cells = min(cells, MaxBar)
	least, most := 0.0, 0.0
	for _, f := range numbers {
		least, most = min(least, finite(f)), max(most, finite(f))
	}
	scale := most - least
	if scale == 0 || cells < 1 || s.Plain {
		return make([]string, len(numbers))
	}
	left := 0
	if least < 0 {
		left = max(1, int(math.Round(float64(cells-1)*-least/scale)))
		cells -= left + 1
		scale = max(-least/float64(left), most/float64(max(cells, 1)))
	} else {
		scale /= float64(cells)
	}
	bars := make([]string, len(numbers))
	for i, f := range numbers {
		f = finite(f)
		if left > 0 {
			n := max(0, int(math.Round(-f/scale)))
			bars[i] = strings.Repeat(" ", left-min(n, left)) + strings.Repeat(s.block(), min(n, left)) + s.Margin(false)
		}
		bars[i] += s.bar(f / scale)
	}
	return bars
}

// finite returns a number of which a bar can be drawn.
func finite(f float64) float64 {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return 0
	}
	return f
}

func (s Screen) block() string {
	if s.ASCII {
		return "#"
	}
	return "█"
}

// bar returns a bar of some cells. A number above zero has at least an eighth of one.
func (s Screen) bar(cells float64) string {
	if cells <= 0 {
		return ""
	}
	if s.ASCII {
		return strings.Repeat("#", int(max(1, math.Round(cells))))
	}
	eighths := int(max(1, math.Round(cells*8)))
	return strings.Repeat("█", eighths/8) + strings.TrimSpace(string([]rune(" ▏▎▍▌▋▊▉")[eighths%8]))
}

// levels are the heights of a column: of a sparkline, and of a bin that is not empty.
func (s Screen) levels() []rune {
	if s.ASCII {
		return []rune("0123456789")
	}
	return []rune("▁▂▃▄▅▆▇█")
}

// leastSeries is how many numbers a sparkline has at least, and maxSeries how many cells at most.
const leastSeries, maxSeries = 5, 40

// Sparkline returns a series of numbers as columns between the first number and the last one, or "" if it is too short. NaN
// is a gap. Neighbours of a long series share a column, which has their mean.
func (s Screen) Sparkline(numbers []float64) string {
	if len(numbers) < leastSeries {
		return ""
	}
	n := min(len(numbers), maxSeries)
	means := make([]float64, n)
	for i := range means {
		sum, count := 0.0, 0.0
		for _, f := range numbers[i*len(numbers)/n : (i+1)*len(numbers)/n] {
			if !math.IsNaN(f) && !math.IsInf(f, 0) {
				sum, count = sum+f, count+1
			}
		}
		means[i] = sum / count // NaN for none
	}
	known := slices.DeleteFunc(slices.Clone(means), math.IsNaN)
	if len(known) == 0 {
		return ""
	}
	least, most := slices.Min(known), slices.Max(known)
	levels := s.levels()
	var b strings.Builder
	for _, f := range means {
		switch {
		case math.IsNaN(f):
			b.WriteByte(' ')
		case most == least:
			b.WriteRune(levels[0])
		default:
			b.WriteRune(levels[int(math.Round((f-least)/(most-least)*float64(len(levels)-1)))])
		}
	}
	return Number(numbers[0]) + " " + b.String() + " " + Number(numbers[len(numbers)-1])
}

// Histogram returns the numbers of values in bins as columns from zero. An empty bin is a space, so that it differs from one
// with few values. Without bins, all values are the same.
func (s Screen) Histogram(counts []float64) string {
	most := 0.0
	for _, n := range counts {
		most = max(most, n)
	}
	if most == 0 {
		return "constant"
	}
	levels := s.levels()
	if s.ASCII { // 0 is for an empty bin
		levels = levels[1:]
	}
	var b strings.Builder
	for _, n := range counts {
		switch {
		case n > 0:
			b.WriteRune(levels[max(0, int(math.Round(n/most*float64(len(levels))))-1)])
		case s.ASCII:
			b.WriteByte('0')
		default:
			b.WriteByte(' ')
		}
	}
	return b.String()
}
