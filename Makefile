# The house's commands. `make` alone says what there is.
#
# Tools come from the Go module proxy at pinned versions and are kept in .build/ (ignored by git); what the machine
# itself must have (a C compiler for the race detector, PostgreSQL's server programs) is found or installed by `need`.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:

GOLANGCI_VERSION := v2.15.0
GOFUMPT_VERSION := v0.12.0

BUILD := .build
GOLANGCI := $(BUILD)/tools/golangci-lint-$(GOLANGCI_VERSION)
GOFUMPT := $(BUILD)/tools/gofumpt-$(GOFUMPT_VERSION)

# Arguments for `make dev`, and which packages and benchmarks `make test` and `make bench` run.
ARGS ?=
PKG ?= ./...
BENCH ?= .
BENCHTIME ?=
RUNS ?= 3

.PHONY: help need generate drift fmt fmt-check vet lint unit test bench build dev clean

help: ## Say what there is.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

test: ## Everything that must hold before a change is handed in: needs, drift, format, vet, lint, tests with -race.
	@.ci/steps need drift fmt-check vet lint unit

need: ## Find what the tests need on this machine, or install it, and say which.
	@.ci/need

generate: ## Write every generated file anew.
	@go generate ./...

drift: ## Fail if a generated file is not what its generator writes.
	@.ci/drift

fmt: $(GOFUMPT) ## Format all Go code.
	@$(GOFUMPT) -l -w .

fmt-check: $(GOFUMPT) ## Fail if gofumpt would change a file.
	@out=$$($(GOFUMPT) -l .); if [ -n "$$out" ]; then printf 'gofumpt would change (make fmt mends it):\n%s\n' "$$out"; exit 1; fi

vet: ## go vet.
	@go vet ./...

lint: $(GOLANGCI) ## The linter, with the rules of .golangci.yml.
	@$(GOLANGCI) run ./...

unit: ## The tests alone, once, with the race detector, in random order; one package at a time, so that leases and processes of one do not starve those of another.
	@mkdir -p $(BUILD)
	@CGO_ENABLED=1 go test -race -shuffle=on -p 1 -timeout 30m $(PKG) 2>&1 | tee $(BUILD)/test.log

bench: ## The benchmarks beside their peers, and one table (BENCH=pattern, BENCHTIME=duration, RUNS=number).
	@BENCH='$(BENCH)' BENCHTIME='$(BENCHTIME)' RUNS='$(RUNS)' .ci/bench

build: ## The binary, as .build/onefold.
	@mkdir -p $(BUILD)
	@go build -trimpath -o $(BUILD)/onefold ./cmd/onefold
	@echo '$(BUILD)/onefold'

dev: build ## Build onefold and run `onefold dev` (ARGS="--data DIR --listen ADDR …").
	@exec $(BUILD)/onefold dev $(ARGS)

clean: ## Remove what was built and the tools.
	@rm -rf $(BUILD)

# A tool is built once for each version: the version is in its file's name.
$(GOLANGCI):
	@.ci/tool github.com/golangci/golangci-lint/v2/cmd/golangci-lint $(GOLANGCI_VERSION) $@

$(GOFUMPT):
	@.ci/tool mvdan.cc/gofumpt $(GOFUMPT_VERSION) $@
