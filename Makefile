# Every task of the project. `make` lists them.

.DEFAULT_GOAL := help

SOAK_COUNT ?= 10
# As in scripts/test.sh: all but SQLite itself.
RACE = -race -gcflags='modernc.org/sqlite/lib=-race=false'

help: ## list the tasks
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

tools: ## bring what lint and tests need (only what is missing)
	@scripts/tools.sh all

dev: ## run everything in one process, with a demo connection
	go run ./starter dev

build: ## build bin/holdfast, bin/holdfast-worker and bin/holdfast-gateway
	go build -trimpath -o bin/holdfast ./starter
	go build -trimpath -o bin/holdfast-worker ./worker
	go build -trimpath -o bin/holdfast-gateway ./gateway

lint: ## check style, imports, workflows, modules and scripts
	@scripts/tools.sh lint
	@scripts/lint.sh

test: ## run every test under the race detector
	@scripts/tools.sh test
	@scripts/test.sh

bench: ## print ratios and counts against the raw work
	@scripts/tools.sh test
	go run ./bench

soak: ## kill everything under a hundred calls, thrice, then run the end-to-end tests again and again (SOAK_COUNT=10)
	@scripts/tools.sh test
	go test -tags soak $(RACE) -timeout 1h -count 1 -v -run '^TestAHundredCalls' ./e2e/chaos
	go test -tags soak $(RACE) -shuffle=on -p 1 -parallel 4 -timeout 6h -count $(SOAK_COUNT) -skip '^TestAHundredCalls' ./e2e/...

record: ## record the histories that later releases must replay (RELEASE=v1.2.3)
	@scripts/tools.sh test
	HOLDFAST_RECORD=$(RELEASE) go test -tags record -run TestRecordReplayFixtures -count 1 -p 1 ./e2e ./e2e/execution

fmt: ## format all Go code
	go tool -modfile=tools/go.mod golangci-lint fmt

clean: ## remove what was built, recorded and installed in the tree
	rm -rf bin .cache testbed/node_modules

.PHONY: help tools dev build lint test bench soak record fmt clean
