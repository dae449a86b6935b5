package cassidy_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"sync"
	"testing/fstest"

	"github.com/cassidy-run/cassidy"
)

// A table is the rows of a database as a file system: the texts of tools, by the names
// of their files.
type table struct {
	mu   sync.Mutex
	rows map[string]string
}

func (t *table) Open(name string) (fs.File, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := fstest.MapFS{}
	for file, text := range t.rows {
		now[file] = &fstest.MapFile{Data: []byte(text)}
	}
	return now.Open(name)
}

func (t *table) set(file, text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rows[file] = text
}

// priceTool is the text of a tool that returns a number.
func priceTool(cents int) string {
	return fmt.Sprintf("def price():\n    \"Return the price.\"\n    return %d\n\ntool(price)\n", cents)
}

// Serve tools from a table that changes. Refresh takes each row that is right, and keeps
// the last good version of one that is broken. Swap takes all rows or none.
func ExampleFS() {
	ctx := context.Background()
	shared, err := cassidy.New(&cassidy.RuntimeOptions{Sandbox: cassidy.Inline}) // the scripts are the program's own
	if err != nil {
		fmt.Println(err)
		return
	}
	defer shared.Close()
	rows := &table{rows: map[string]string{"price.star": priceTool(25)}}
	host, err := shared.Open(cassidy.FS(rows), &cassidy.Options{TrustSource: true, NoBuiltins: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	price := func() {
		result, err := host.Call(ctx, cassidy.Call{Tool: "price"})
		fmt.Println(result.Value, err)
	}
	price()
	rows.set("price.star", priceTool(30))
	fmt.Println(host.Refresh(ctx))
	price()
	rows.set("price.star", "def price(")
	fmt.Println(host.Refresh(ctx)) // a broken row is no error of Refresh
	price()
	for _, e := range host.Broken() {
		fmt.Printf("%s: %s\n", e.Pos, e.Message())
	}
	err = host.Swap(ctx, cassidy.Scripts(map[string]string{"price.star": priceTool(40), "tax.star": "tax ="}))
	if files, ok := err.(interface{ Unwrap() []error }); ok {
		for _, err := range files.Unwrap() {
			var e *cassidy.Error
			if errors.As(err, &e) {
				fmt.Printf("%s: %s\n", e.Pos, e.Message())
			}
		}
	}
	price()
	// Output:
	// 25 <nil>
	// <nil>
	// 30 <nil>
	// <nil>
	// 30 <nil>
	// price.star:1:10: '(' is never closed
	// tax.star:1:6: got end of file, want primary expression
	// 30 <nil>
}

// Follow the files of a folder: a broken one is reported, and its last valid version stays.
func ExampleOptions_watch() {
	dir, err := os.MkdirTemp("", "watch")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, ".cassidy", "tools", "stock.star")
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte("def stock(item: str) -> int:\n    \"\"\"Count.\"\"\"\n    return len(item)\n\ntool(stock)\n"), 0o644)); err != nil {
		log.Fatal(err)
	}
	shared, err := cassidy.New(&cassidy.RuntimeOptions{Sandbox: cassidy.Inline}) // the scripts are the program's own
	if err != nil {
		log.Fatal(err)
	}
	defer shared.Close()
	wrong := make(chan error, 10)
	host, err := shared.Open(cassidy.Dir(dir), &cassidy.Options{TrustSource: true, Watch: func(errs []*cassidy.Error) {
		for _, e := range errs {
			wrong <- e
		}
	}})
	if err != nil {
		log.Fatal(err)
	}
	defer host.Close()
	call := cassidy.Call{Tool: "stock", Args: cassidy.NewDict("item", "pear")}
	if _, err := host.Call(context.Background(), call); err != nil {
		log.Fatal(err)
	}
	if err := errors.Join(os.WriteFile(file+"~", []byte("def stock("), 0o644), os.Rename(file+"~", file)); err != nil {
		log.Fatal(err)
	}
	fmt.Println(<-wrong)
	result, err := host.Call(context.Background(), call)
	fmt.Println(result.Value, err)
	// Output:
	// .cassidy/tools/stock.star:1:10: '(' is never closed
	// 4 <nil>
}
