package main

// A benchmark reports metrics.
type benchmark struct {
	pkg, name string
	rounds    int // 0: as many as fit into a second
	metrics   []metric
}

// A metric is one number of a benchmark. Less is better.
type metric struct {
	unit, what string
	goal       float64 // 0: there is none
	kind       kind
}

type kind int

const (
	ratio   kind = iota // to something measured in the same run
	counter             // does not depend on the machine
	shown               // depends on the machine, and is not compared
)

// isWorse reports whether a result is worse than that of the baseline.
func (m *metric) isWorse(got, was float64) bool {
	switch m.kind {
	case ratio:
		return got > was*tolerance
	case counter:
		return got > was
	}
	return false
}

// one returns the metric of a benchmark that has a ratio.
func one(what string, goal float64) []metric { return []metric{{"ratio", what, goal, ratio}} }

// benchmarks are in the order of bench/RESULTS.md.
var benchmarks = []benchmark{
	{"bench", "Call", 0, one("a call in process / bare go.starlark.net", 1.3)},
	{"bench", "CallLua", 0, one("a call in process, in Lua / a bash process", 0.1)},
	{"bench", "FirstCall", 0, one("the first call of a tool of 40 lines / parsing it", 2)},
	{"bench", "Counters", 1, []metric{
		{"allocs", "allocations of a call in process", 40, counter},
		{"files", "system calls about files inside 10,000 calls", 0, counter},
		{"step-B", "bytes of record a step", 230, shown},
		{"processes", "processes that 100 calls in a worker start", 4, shown},
	}},
	{"bench", "WorkerCall", 0, one("a call in a worker / a bare socket hop with a script call", 2.6)},
	{"bench", "WorkerRead", 0, one("the same with a read of 4 KB / the same hop", 5.7)},
	{"bench", "WorkerCallLua", 0, one("a call in a worker, in Lua / a bash process", 0.1)},
	{"bench", "WorkerPython", 0, one("a call in a worker / a Python process", 0.002)},
	{"bench", "CallHooks", 0, one("a call with two hooks / the call without them", 4)},
	{"bench", "WorkerStart/cassidy", 30, []metric{{"ratio", "a worker from start to ready / /bin/true", 12, ratio}, {"median-ms", "the same in ms", 10, shown}, {"pss-MB", "memory of an idle worker in MB", 5.5, shown}}},
	{"bench", "WorkerStart/cassidy-worker", 30, []metric{{"ratio", "the same with cassidy-worker / /bin/true", 9, ratio}, {"median-ms", "the same in ms", 6, shown}, {"pss-MB", "memory of an idle worker in MB", 3.5, shown}}},
	{"bench", "Version", 0, one("cassidy version / /bin/true", 9)},
	{"bench", "List/10000", 5, []metric{{"warm/parse", "cassidy tool list of 10,000, warm / parsing them", 0.15, ratio}, {"cold/parse", "the same, cold / parsing them", 1.8, ratio}, {"warm-ms", "the same, warm, in ms", 60, shown}}},
	{"bench", "ServerWaiting", 0, []metric{{"ratio", "64 recorded calls over HTTP that wait / waiting alone", 1 / 0.86, ratio}, {"ours/bare", "the same / a handler in Go that waits and inserts a row into SQLite", 1, ratio}}},
	{"bench", "ServerBusyTenants", 1, []metric{{"ratio", "p99 of the recorded calls over HTTP of 30 busy tenants / of one", 5, ratio}}},
	{"bench", "ServerTenants", 1, []metric{{"MB-left", "memory of 60 tenants 5 s later in MB", 80, shown}, {"workers-left", "workers of 60 tenants 5 s later", 24, shown}}},
	{"bench", "MCPCall", 0, one("MCP tools/call / the server of the SDK", 1.2)},
	{"bench", "MCPStart", 5, []metric{{"ready-ms", "cassidy mcp serve with 1,000 tools, ready, in ms", 50, shown}}},
	{"bench", "MCPCodeMode", 1, []metric{
		{"code-list-tokens", "tokens of the list of 100 tools in code mode", 814, counter},
		{"code-job-tokens", "tokens of a job of 100 calls in code mode", 942, counter},
		{"plain-list-tokens", "tokens of the plain list", 0, shown},
		{"plain-job-tokens", "tokens of the plain job", 0, shown},
	}},
	{"bench", "Table", 1, []metric{{"ours/python", "a table of 1,000,000 rows / Python csv", 1 / 5.0, ratio}, {"ours/sqlite", "the same / sqlite3", 3, ratio}}},
	{"runtime/history", "Step", 0, []metric{{"step/bare", "a durable step / bare SQLite", 1.5, ratio}}},
	{"runtime/history", "Replay", 3, []metric{{"ms/op", "10,000 effects replayed, in ms", 50, shown}}},
	{"runtime/journal/sqlite", "Commit", 0, []metric{{"step/bare", "a commit / bare SQLite", 1.5, ratio}}},
}
