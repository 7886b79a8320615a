SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
MAKEFLAGS += --warn-undefined-variables --no-builtin-rules
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

PYTHON := $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
READY := .venv/.ready

PROTO := $(shell find proto -name '*.proto')
GENERATED := clients/python
CODE := service clients/python/hango tests examples bench

.PHONY: help demo test test-all check format generate bench bench-fidelity sessions released clean

help: ## Show what there is.
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

$(READY): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed" if sys.version_info < (3, 11) else 0)'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@

demo: $(READY) ## Compact a real agent session over gRPC and show before and after.
	$(BIN)/python -m examples.demo

test: $(READY) ## Run every suite that needs nothing but Python.
	$(BIN)/python -m pytest -q -m "not postgresql and not chromium"

test-all: check ## Run everything, as CI does; needs PostgreSQL and Chromium.
	$(BIN)/python -m pytest -q

check: $(READY) ## Lint, types, layering, and the contract's own checks.
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/mypy
	$(BIN)/mypy -p hango.compaction
	$(BIN)/lint-imports --no-cache
	$(BIN)/buf lint proto
	$(BIN)/buf breaking proto --against proto/released.binpb

format: $(READY) ## Put the code into its form.
	$(BIN)/ruff check --fix $(CODE)
	$(BIN)/ruff format $(CODE)

generate: $(READY) ## Write the Python stubs anew from the contract.
	$(BIN)/python -m grpc_tools.protoc -I proto --python_out=$(GENERATED) --pyi_out=$(GENERATED) \
		--grpc_python_out=$(GENERATED) $(PROTO)

bench: $(READY) ## Measure the service against an echo of the same bytes.
	$(BIN)/python -m bench

bench-fidelity: $(READY) ## Measure what a compacted request still knows.
	$(BIN)/python -m bench.fidelity

sessions: $(READY) ## Record the example sessions anew.
	$(BIN)/python -m examples.record

released: $(READY) ## Make today's contract the one that later ones must not break.
	$(BIN)/buf build proto --output proto/released.binpb

clean: ## Remove what was built.
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis var
