package value_test

import (
	"encoding/json"
	"fmt"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// Encode Go values, and decode them again.
func ExampleFromGo() {
	type order struct {
		ID    int64   `json:"id"`
		Total float64 `json:"total"`
		Note  string  `json:"note,omitempty"`
	}
	v, err := value.FromGo(order{ID: 1 << 62, Total: 3})
	fmt.Println(v, err)
	read, err := value.ToGo[order](v)
	fmt.Println(read.ID, err)
	_, err = value.ToGo[order](value.NewDict("id", "x"))
	fmt.Println(err)
	// Output:
	// {"id":4611686018427387904,"total":3.0} <nil>
	// 4611686018427387904 <nil>
	// id: expected an integer but got string
}

// Make a dict, and read it from JSON.
func ExampleNewDict() {
	d := value.NewDict("path", "a.txt", "lines", []int{1, 2})
	fmt.Println(d, d.Text("path"))
	var read value.Dict
	if err := json.Unmarshal([]byte(`{"n": 12345678901234567890}`), &read); err != nil {
		fmt.Println(err)
		return
	}
	n, _ := read.Get("n")
	fmt.Println(n, value.TypeOf(n))
	// Output:
	// {"path":"a.txt","lines":[1,2]} a.txt
	// 12345678901234567890 integer
}
