package number

import (
	"fmt"
	"math"
	"math/big"
	"slices"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

func lists() []tool.Func {
	values := row.Items(tool.Required("values", tool.TypeArray, "A list of numbers."), tool.TypeNumber)
	population := tool.Optional("population", tool.TypeBoolean, false, "Whether the values are a complete population, not a sample. If True, divide by n, not by n - 1.")
	return []tool.Func{
		{
			Name: "sum", Doc: "Add numbers. Rounding errors of floats are compensated.", Params: []tool.Param{values},
			Returns: "an integer if all values are integers, else a float; 0 for an empty list", Do: row.Do(sum),
		},
		{
			Name: "mean", Doc: "Return the arithmetic mean.", Params: []tool.Param{values},
			Returns: "a float; an empty list is an error", Do: statistic(1, func(v []float64, _ *value.Dict) float64 { return mean(v) }),
		},
		{
			Name: "median", Doc: "Return the median: the middle value, or the mean of the two middle values.", Params: []tool.Param{values},
			Returns: "a float; an empty list is an error", Do: statistic(1, func(v []float64, _ *value.Dict) float64 { return quantile(v, 0.5) }),
		},
		{
			Name: "variance", Doc: "Return the variance of a sample.", Params: []tool.Param{values, population},
			Returns: "a float; a sample needs at least two values, a population at least one",
			Do:      statistic(2, variance),
		},
		{
			Name: "stdev", Doc: "Return the standard deviation of a sample.", Params: []tool.Param{values, population},
			Returns: "a float; a sample needs at least two values, a population at least one",
			Do:      statistic(2, func(v []float64, a *value.Dict) float64 { return math.Sqrt(variance(v, a)) }),
		},
		{
			Name: "percentile", Doc: "Return the percentile p: p percent of the values are below the result. The result is interpolated linearly between the two nearest values.",
			Params: []tool.Param{
				values,
				row.Between(tool.Required("p", tool.TypeNumber, "The percentage; 50 is the median."), 0, 100),
			},
			Returns: "a float; an empty list is an error", Do: row.Do(percentile),
		},
	}
}

// floats returns the values of a call as finite floats, at least as many as
// are needed.
func floats(a *value.Dict, least int) ([]float64, error) {
	items := a.Elements("values")
	if len(items) < least {
		return nil, row.Invalid("argument 'values' should have at least %d numbers (got %d)", least, len(items))
	}
	floats := make([]float64, len(items))
	for i, v := range items {
		f, err := row.Finite(v, fmt.Sprintf("argument 'values'[%d]", i))
		if err != nil {
			return nil, err
		}
		floats[i] = f
	}
	return floats, nil
}

// statistic makes the Do of a function of many numbers; of a whole
// population, one is enough.
func statistic(least int, f func(values []float64, a *value.Dict) float64) row.Run {
	return row.Do(func(a *value.Dict) (value.Value, error) {
		need := least
		if a.Bool("population") {
			need = 1
		}
		values, err := floats(a, need)
		if err != nil {
			return nil, err
		}
		return finite(f(values, a), "")
	})
}

func sum(a *value.Dict) (value.Value, error) {
	total := new(big.Int)
	for i, v := range a.Elements("values") {
		if _, ok := v.(float64); ok {
			values, err := floats(a, 0)
			if err != nil {
				return nil, err
			}
			return finite(add(values), "")
		}
		n, err := integer(v, fmt.Sprintf("argument 'values'[%d]", i))
		if err != nil {
			return nil, err
		}
		total.Add(total, n)
	}
	return value.Integer(total), nil
}

// add is Neumaier's sum: what each addition rounds off is added up apart.
func add(values []float64) float64 {
	sum, lost := 0.0, 0.0
	for _, v := range values {
		t := sum + v
		if math.Abs(sum) >= math.Abs(v) {
			lost += (sum - t) + v
		} else {
			lost += (v - t) + sum
		}
		sum = t
	}
	return sum + lost
}

func mean(values []float64) float64 {
	n := float64(len(values))
	if sum := add(values); !math.IsInf(sum, 0) && !math.IsNaN(sum) {
		return sum / n
	}
	parts := make([]float64, len(values)) // the sum is out of range, the mean is not
	for i, v := range values {
		parts[i] = v / n
	}
	return add(parts)
}

func variance(values []float64, a *value.Dict) float64 {
	mean := mean(values)
	squares := make([]float64, len(values))
	for i, v := range values {
		squares[i] = (v - mean) * (v - mean)
	}
	n := float64(len(values))
	if !a.Bool("population") {
		n--
	}
	return add(squares) / n
}

func percentile(a *value.Dict) (value.Value, error) {
	p, err := row.Float(a, "p")
	if err != nil {
		return nil, err
	}
	values, err := floats(a, 1)
	if err != nil {
		return nil, err
	}
	return finite(quantile(values, p/100), "")
}

// quantile sorts the values and gives the one at a share of the way from
// the first to the last.
func quantile(values []float64, share float64) float64 {
	slices.Sort(values)
	at := share * float64(len(values)-1)
	low := int(at)
	if low+1 >= len(values) {
		return values[len(values)-1]
	}
	rest := at - float64(low)
	if step := values[low+1] - values[low]; !math.IsInf(step, 0) {
		return values[low] + step*rest
	}
	return values[low]*(1-rest) + values[low+1]*rest
}
