package table

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
)

// exactDistinct is the number of distinct values that are counted exactly. Beyond that
// their number is an estimate.
const exactDistinct = 10_000

// A hyperLogLog estimates the number of distinct hashes (Flajolet et al. 2007), with a
// standard error of 1.04 / sqrt(2^14) = 0.8 %. A library would replace only this type, and its
// hashes would have to be the same in every process, for replays.
type hyperLogLog struct{ registers [1 << registerBits]uint8 }

const registerBits = 14

func (h *hyperLogLog) add(hash uint64) {
	r := &h.registers[hash>>(64-registerBits)]
	rank := uint8(bits.LeadingZeros64(hash<<registerBits|1<<(registerBits-1)) + 1)
	*r = max(*r, rank)
}

// estimate uses the estimator of Ertl (2017), which needs no correction table and is
// accurate for small and large numbers.
func (h *hyperLogLog) estimate() int64 {
	const q = 64 - registerBits
	var count [q + 2]float64
	for _, r := range h.registers {
		count[r]++
	}
	const m = 1 << registerBits
	z := m * tau(1-count[q+1]/m)
	for k := q; k >= 1; k-- {
		z = 0.5 * (z + count[k])
	}
	z += m * sigma(count[0]/m)
	return int64(math.Round(m / (2 * math.Ln2) * m / z))
}

func sigma(x float64) float64 {
	if x == 1 {
		return math.Inf(1)
	}
	y, z := 1.0, x
	for before := math.NaN(); z != before; {
		x *= x
		before = z
		z += x * y
		y += y
	}
	return z
}

func tau(x float64) float64 {
	if x == 0 || x == 1 {
		return 0
	}
	y, z := 1.0, 1-x
	for before := math.NaN(); z != before; {
		x = math.Sqrt(x)
		before = z
		y *= 0.5
		z -= (1 - x) * (1 - x) * y
	}
	return z / 3
}

// hashInt returns a 64-bit hash of a number (splitmix64). Hashes are the same in every
// process, so that estimates are too.
func hashInt(v int64) uint64 {
	x := uint64(v) + 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// hashText returns a 64-bit hash of a text, eight bytes at a time, with folded
// multiplication as in wyhash.
func hashText(s string) uint64 {
	h := uint64(len(s)) * 0x9e3779b97f4a7c15
	b := []byte(s) // not copied, because it is only read
	for ; len(b) >= 8; b = b[8:] {
		h = fold(h^binary.LittleEndian.Uint64(b), 0xa0761d6478bd642f)
	}
	var last uint64
	for i, c := range b {
		last |= uint64(c) << (8 * i)
	}
	return hashInt(int64(fold(h^last, 0xe7037ed1a0b428db)))
}

func fold(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	return high ^ low
}

// distinctHashes counts distinct values by their hashes: exactly while they are few. Two
// of 10,000 values have the same hash in one of 10^11 tables.
type distinctHashes struct {
	set    map[uint64]struct{}
	sketch *hyperLogLog
}

// add adds a hash, and returns the additional bytes that it needs.
func (d *distinctHashes) add(hash uint64) int64 {
	const setBytes = 20 // of a hash in the set, which is not full
	if d.sketch != nil {
		d.sketch.add(hash)
		return 0
	}
	if d.set == nil {
		d.set = map[uint64]struct{}{}
	}
	before := len(d.set)
	if d.set[hash] = struct{}{}; len(d.set) <= exactDistinct {
		return int64(len(d.set)-before) * setBytes
	}
	d.sketch = &hyperLogLog{}
	for h := range d.set {
		d.sketch.add(h)
	}
	d.set = nil
	return int64(len(d.sketch.registers) - before*setBytes)
}

// count returns the number of distinct hashes, and whether it is an estimate.
func (d *distinctHashes) count() (int64, bool) {
	if d.sketch != nil {
		return d.sketch.estimate(), true
	}
	return int64(len(d.set)), false
}

// A tally counts the values of a column: exactly while there are at most t.most distinct
// values. Beyond that it has commonValues counters (Misra and Gries 1982), which lose at
// most one count for each commonValues values, so all more frequent values remain.
type tally[K comparable] struct {
	at       map[K]int32 // the index of an entry
	entries  []entry[K]
	distinct *hyperLogLog // set when there are too many
	lost     int64        // the maximum number of lost counts of an entry
	hash     func(K) uint64
	keep     func(K) K      // returns a key that can be kept: not part of the text of a file
	spill    func(K, int64) // is called with each entry before they become estimates; may be nil
	most     int            // the maximum number of exact counts, at least commonValues
}

type entry[K comparable] struct {
	key   K
	count int64
}

// commonValues is 1,000, because a value of less than a thousandth of the rows is not of
// interest as a frequent value.
const commonValues = 1000

func newTally[K comparable](most int, hash func(K) uint64, keep func(K) K) *tally[K] {
	return &tally[K]{at: map[K]int32{}, hash: hash, keep: keep, most: max(most, commonValues)}
}

func (t *tally[K]) add(key K) {
	if t.distinct != nil {
		t.distinct.add(t.hash(key))
	}
	if i, ok := t.at[key]; ok {
		t.entries[i].count++
		return
	}
	if t.distinct == nil && len(t.entries) == t.most {
		t.overflow()
		t.distinct.add(t.hash(key))
	} else if t.distinct != nil && len(t.entries) == commonValues {
		t.reduce(1)
		t.lost++
		return
	}
	key = t.keep(key)
	t.at[key] = int32(len(t.entries))
	t.entries = append(t.entries, entry[K]{key, 1})
}

// entryBytes is the approximate size of an entry of a tally without the bytes of a text.
const entryBytes = mapEntry + 48

// size returns the approximate number of bytes that the tally takes.
func (t *tally[K]) size() int64 {
	n := int64(len(t.entries)) * entryBytes
	if t.distinct != nil {
		n += int64(len(t.distinct.registers))
	}
	return n
}

// overflow switches to estimates.
func (t *tally[K]) overflow() {
	t.distinct = &hyperLogLog{}
	counts := make([]int64, len(t.entries))
	for i, e := range t.entries {
		if t.spill != nil {
			t.spill(e.key, e.count)
		}
		t.distinct.add(t.hash(e.key))
		counts[i] = e.count
	}
	slices.Sort(counts)
	t.lost = counts[len(counts)-commonValues]
	t.at = make(map[K]int32, commonValues) // smaller, because it is cleared often
	t.reduce(t.lost)
}

// reduce subtracts n from each count, and removes entries without a count.
func (t *tally[K]) reduce(n int64) {
	clear(t.at)
	left := t.entries[:0]
	for _, e := range t.entries {
		if e.count -= n; e.count > 0 {
			t.at[e.key] = int32(len(left))
			left = append(left, e)
		}
	}
	clear(t.entries[len(left):])
	t.entries = left
}

// count returns the number of distinct values, and whether it is an estimate.
func (t *tally[K]) count() (int64, bool) {
	if t.distinct != nil {
		return t.distinct.estimate(), true
	}
	return int64(len(t.entries)), false
}

// top returns the n most frequent values, in the order of their first occurrence if
// counts are equal. If the counts are estimates, it returns only values that are
// certainly frequent. An estimate is off by at most half of the counts that may be lost.
func (t *tally[K]) top(n int) []entry[K] {
	best := slices.Clone(t.entries)
	slices.SortStableFunc(best, func(a, b entry[K]) int { return int(b.count - a.count) })
	if t.distinct != nil {
		best = slices.DeleteFunc(best, func(e entry[K]) bool { return e.count <= t.lost })
		for i := range best {
			best[i].count += t.lost / 2
		}
	}
	return best[:min(n, len(best))]
}
