package table

import (
	"math"
	"math/big"
	"math/bits"
)

// An intSum adds integers exactly, in 128 bits. No table has enough rows to overflow
// them, so the sum does not depend on the order of the rows.
type intSum struct {
	high int64
	low  uint64
}

func (s *intSum) add(v int64) {
	var carry uint64
	s.low, carry = bits.Add64(s.low, uint64(v), 0)
	s.high += v>>63 + int64(carry)
}

// int64 returns the sum if it fits.
func (s *intSum) int64() (int64, bool) {
	return int64(s.low), s.high == int64(s.low)>>63
}

// big returns the sum.
func (s *intSum) big() *big.Int {
	n := new(big.Int).Lsh(big.NewInt(s.high), 64)
	return n.Add(n, new(big.Int).SetUint64(s.low))
}

// float returns the nearest float.
func (s *intSum) float() float64 {
	if v, ok := s.int64(); ok {
		return float64(v)
	}
	f, _ := new(big.Float).SetInt(s.big()).Float64()
	return f
}

// mean returns the float nearest to the mean of n integers.
func (s *intSum) mean(n int64) float64 {
	f, _ := new(big.Rat).SetFrac(s.big(), big.NewInt(n)).Float64()
	return f
}

// A floatSum adds floats and compensates for rounding errors (Neumaier). With an
// infinity or NaN among them, the result is that of plain addition.
type floatSum struct{ sum, lost float64 }

func (s *floatSum) add(v float64) {
	t := s.sum + v
	if math.Abs(s.sum) >= math.Abs(v) {
		s.lost += s.sum - t + v
	} else {
		s.lost += v - t + s.sum
	}
	s.sum = t
}

func (s *floatSum) float() float64 {
	if math.IsInf(s.sum, 0) || math.IsNaN(s.sum) {
		return s.sum
	}
	return s.sum + s.lost
}

// A total adds the values of a column of numbers or bools.
type total struct {
	n     int64
	whole intSum   // of integers and bools
	sum   floatSum // of floats
}

// add adds the i-th value of a column. It needs no additional bytes.
func (s *total) add(c *Column, i int) int64 {
	s.n++
	if c.Type == Float {
		s.sum.add(c.Floats[i])
	} else {
		s.whole.add(c.Ints[i])
	}
	return 0
}

// mean returns the mean of values of type t, if there are any.
func (s *total) mean(t Type) (float64, bool) {
	switch {
	case s.n == 0:
		return 0, false
	case t == Float:
		return s.sum.float() / float64(s.n), true
	}
	return s.whole.mean(s.n), true
}

// A variance computes the variance of a sample incrementally (Welford).
type variance struct {
	n       int64
	mean, m float64
}

func (s *variance) add(v float64) {
	s.n++
	d := v - s.mean
	s.mean += d / float64(s.n)
	s.m += d * (v - s.mean)
}

// put adds the i-th value of a column. It needs no additional bytes.
func (s *variance) put(c *Column, i int) int64 {
	s.add(c.float(i))
	return 0
}

// stdev returns the standard deviation, if there is a variance.
func (s *variance) stdev() (float64, bool) {
	v, ok := s.value()
	return math.Sqrt(v), ok
}

// value returns the variance. ok is false with fewer than two values.
func (s *variance) value() (float64, bool) {
	if s.n < 2 {
		return 0, false
	}
	return s.m / float64(s.n-1), true
}
