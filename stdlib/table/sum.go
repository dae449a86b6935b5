package table

import (
	"math"
	"math/big"
	"math/bits"
)

// A wholeSum adds integers exactly, in 128 bits: no table has enough rows to leave
// them, so the order of the rows is of no account.
type wholeSum struct {
	high int64
	low  uint64
}

func (s *wholeSum) add(v int64) {
	var carry uint64
	s.low, carry = bits.Add64(s.low, uint64(v), 0)
	s.high += v>>63 + int64(carry)
}

// int64 returns the sum, if it fits.
func (s *wholeSum) int64() (int64, bool) {
	return int64(s.low), s.high == int64(s.low)>>63
}

// big returns the sum.
func (s *wholeSum) big() *big.Int {
	n := new(big.Int).Lsh(big.NewInt(s.high), 64)
	return n.Add(n, new(big.Int).SetUint64(s.low))
}

// float returns the nearest float.
func (s *wholeSum) float() float64 {
	if v, ok := s.int64(); ok {
		return float64(v)
	}
	f, _ := new(big.Float).SetInt(s.big()).Float64()
	return f
}

// mean returns the float nearest to the mean of n integers.
func (s *wholeSum) mean(n int64) float64 {
	f, _ := new(big.Rat).SetFrac(s.big(), big.NewInt(n)).Float64()
	return f
}

// A floatSum adds floats and keeps what rounding loses (Neumaier). With an
// infinity or NaN among them, the sum is what plain addition gives.
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

// A spread is the variance of a sample on its way (Welford).
type spread struct {
	n       int64
	mean, m float64
}

func (s *spread) add(v float64) {
	s.n++
	d := v - s.mean
	s.mean += d / float64(s.n)
	s.m += d * (v - s.mean)
}

// variance is not known of fewer than two values.
func (s *spread) variance() (float64, bool) {
	if s.n < 2 {
		return 0, false
	}
	return s.m / float64(s.n-1), true
}
