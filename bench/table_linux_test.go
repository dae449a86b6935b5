package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/internal/testhost"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// BenchmarkTableMemory reports the peak memory of a worker that describes and groups a
// file: it should not depend on the number of rows.
func BenchmarkTableMemory(b *testing.B) {
	var least float64
	for _, rows := range []int{250_000, 1_000_000, 4_000_000} {
		b.Run(fmt.Sprint(rows), func(b *testing.B) {
			dir, _ := sumUpProject(b, rows)
			var peak float64
			for b.Loop() {
				h, err := testhost.Open(b, testhost.On{Sandbox: cassidy.Process}, dir, &cassidy.Options{TrustSource: true})
				if err != nil {
					b.Fatal(err)
				}
				if _, err := h.Call(context.Background(), tool.Call{Tool: "sum_up", Args: value.NewDict("path", "rows.csv")}); err != nil {
					b.Fatal(err)
				}
				peak = max(peak, peakOfWorkers(b))
				if err := h.Close(); err != nil {
					b.Fatal(err)
				}
			}
			if least == 0 {
				least = peak
			}
			b.ReportMetric(peak, "MB")
			b.ReportMetric(peak/least, "of-first")
		})
	}
}

// peakOfWorkers is the peak memory of all children of this process.
func peakOfWorkers(b *testing.B) float64 {
	b.Helper()
	files, _ := filepath.Glob("/proc/[0-9]*/status")
	most := 0.0
	for _, name := range files {
		content, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		fields := map[string]string{}
		for line := range strings.Lines(string(content)) {
			k, v, _ := strings.Cut(line, ":")
			fields[k] = strings.TrimSpace(v)
		}
		if fields["PPid"] != strconv.Itoa(os.Getpid()) {
			continue
		}
		kb, _ := strconv.ParseFloat(strings.TrimSuffix(fields["VmHWM"], " kB"), 64)
		most = max(most, kb/1024)
	}
	if most == 0 {
		b.Fatal("no worker was seen")
	}
	return most
}
