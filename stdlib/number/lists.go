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

func mathLists() []tool.Func {
	values := row.Items(tool.Required("values", tool.TypeArray, "A list of numbers."), tool.TypeNumber)
	population := tool.Optional("population", tool.TypeBoolean, false, "The values are all there are, and not a sample of them: divide by n and not by n - 1.")
	return []tool.Func{
		{
			Name: "sum", Doc: "Adds numbers up, without losing the small ones beside the large.", Params: []tool.Param{values},
			Returns: "an integer if all are, else a float; 0 for none", Do: row.Do(mathSum),
		},
		{
			Name: "mean", Doc: "Gives the arithmetic mean.", Params: []tool.Param{values},
			Returns: "a float; no values are an error", Do: mathStatistic(1, func(v []float64, _ *value.Dict) float64 { return mathMean(v) }),
		},
		{
			Name: "median", Doc: "Gives the value in the middle, or the mean of the two there.", Params: []tool.Param{values},
			Returns: "a float; no values are an error", Do: mathStatistic(1, func(v []float64, _ *value.Dict) float64 { return mathQuantile(v, 0.5) }),
		},
		{
			Name: "variance", Doc: "Gives the variance of a sample.", Params: []tool.Param{values, population},
			Returns: "a float; fewer than two values are an error (one, of a population)",
			Do:      mathStatistic(2, mathVariance),
		},
		{
			Name: "stdev", Doc: "Gives the standard deviation of a sample.", Params: []tool.Param{values, population},
			Returns: "a float; fewer than two values are an error (one, of a population)",
			Do:      mathStatistic(2, func(v []float64, a *value.Dict) float64 { return math.Sqrt(mathVariance(v, a)) }),
		},
		{
			Name: "percentile", Doc: "Gives the value below which p percent of the values lie, between two values in proportion.",
			Params: []tool.Param{
				values,
				row.Between(tool.Required("p", tool.TypeNumber, "The percentage; 50 is the median."), 0, 100),
			},
			Returns: "a float; no values are an error", Do: row.Do(mathPercentile),
		},
	}
}

// mathFloats returns the values of a call as finite floats, at least as many as
// are needed.
func mathFloats(a *value.Dict, least int) ([]float64, error) {
	items := row.Elements(a, "values")
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

// mathStatistic makes the Do of a function of many numbers; of a whole
// population, one is enough.
func mathStatistic(least int, f func(values []float64, a *value.Dict) float64) row.Run {
	return row.Do(func(a *value.Dict) (value.Value, error) {
		need := least
		if a.Bool("population") {
			need = 1
		}
		values, err := mathFloats(a, need)
		if err != nil {
			return nil, err
		}
		return mathResult(f(values, a), "")
	})
}

func mathSum(a *value.Dict) (value.Value, error) {
	total := new(big.Int)
	for i, v := range row.Elements(a, "values") {
		if _, ok := v.(float64); ok {
			values, err := mathFloats(a, 0)
			if err != nil {
				return nil, err
			}
			return mathResult(mathAdd(values), "")
		}
		n, err := mathInteger(v, fmt.Sprintf("argument 'values'[%d]", i))
		if err != nil {
			return nil, err
		}
		total.Add(total, n)
	}
	return value.Integer(total), nil
}

// mathAdd is Neumaier's sum: what each addition rounds off is added up apart.
func mathAdd(values []float64) float64 {
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

func mathMean(values []float64) float64 {
	n := float64(len(values))
	if sum := mathAdd(values); !math.IsInf(sum, 0) && !math.IsNaN(sum) {
		return sum / n
	}
	parts := make([]float64, len(values)) // the sum is out of range, the mean is not
	for i, v := range values {
		parts[i] = v / n
	}
	return mathAdd(parts)
}

func mathVariance(values []float64, a *value.Dict) float64 {
	mean := mathMean(values)
	squares := make([]float64, len(values))
	for i, v := range values {
		squares[i] = (v - mean) * (v - mean)
	}
	n := float64(len(values))
	if !a.Bool("population") {
		n--
	}
	return mathAdd(squares) / n
}

func mathPercentile(a *value.Dict) (value.Value, error) {
	p, err := row.Float(a, "p")
	if err != nil {
		return nil, err
	}
	values, err := mathFloats(a, 1)
	if err != nil {
		return nil, err
	}
	return mathResult(mathQuantile(values, p/100), "")
}

// mathQuantile sorts the values and gives the one at a share of the way from
// the first to the last.
func mathQuantile(values []float64, share float64) float64 {
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
