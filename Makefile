# Guildhall. Run `make` for what there is.
.DEFAULT_GOAL := help
SHELL := /bin/bash
.PHONY: help install build generate verify lint format test test-old-nats conformance chaos bench demo up down logs reconcile verify-reputation verify-audit rotate-secrets-key ci clean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sort | awk -F':.*## ' '{printf "  \033[36m%-14s\033[0m %s\n", $$1, $$2}'

node_modules/.installed: package.json package-lock.json
	npm ci --no-audit --no-fund
	@touch $@

install: node_modules/.installed ## Install the packages that the lock file names

build: install ## Compile everything to dist/
	npx tsc -b

generate: build ## Write the JSON Schemas and the tool tables from the contracts
	node libs/contracts/dist/src/generate.js

verify: build ## Fail if something generated is stale
	node libs/contracts/dist/src/generate.js --check

lint: install ## Check format, structure and promises
	npx biome check .
	npx oxlint --type-aware

format: install ## Format and fix what can be fixed
	npx biome check --write .

# Tests of the whole system run one after the other: two systems at once would measure each other.
test: build ## Run all tests: real NATS, real PostgreSQL, real processes (about 10 minutes)
	npx tap run --disable-coverage libs/*/dist/test/*.test.js services/*/dist/test/*.test.js infra/dev/dist/test/*.test.js tests/dist/architecture/*.test.js tests/dist/contract/*.test.js
	npx tap run --disable-coverage --jobs=1 tests/dist/e2e/*.test.js tests/dist/chaos/*.test.js

test-old-nats: build ## The claim core on the distribution's nats-server 2.9
	GUILDHALL_TEST_NATS=2.9 npx tap run --disable-coverage services/tasks/dist/test/claims.test.js services/tasks/dist/test/endings.test.js services/tasks/dist/test/consumers.test.js

conformance: build ## The MCP conformance suite against a real gateway (installs Node 24 below var/)
	node tests/dist/conformance/run.js

chaos: build ## The long chaos run: kill, pause and skew everything, then check the history
	node tests/dist/chaos/run.js --seconds $(or $(SECONDS_OF_CHAOS),300)

bench: build ## Measure against references in the same run; fails when a ratio is missed
	node tests/dist/bench/run.js

up: build ## Start the whole system on this machine
	@node infra/dev/dist/src/up.js

down: ## Stop what `make up` started, nothing else
	@node infra/dev/dist/src/down.js

logs: ## Follow the logs of the running system
	@node infra/dev/dist/src/logs.js

demo: build ## Tell the whole story against the running system
	@node tests/dist/demo/run.js

reconcile: ## Bring records, messages and lists of the running system together again
	@node infra/dev/dist/src/reconcile.js

verify-reputation: ## Compute every score of the running system anew and compare
	@node infra/dev/dist/src/verify-reputation.js

rotate-secrets-key: build ## Wrap all data keys of the running system under the newest master key
	@node infra/dev/dist/src/rotate-secrets-key.js

verify-audit: ## Check that the audit log of the running system is as it was written
	@node infra/dev/dist/src/verify-audit.js

ci: lint verify test test-old-nats ## What every change must pass

clean: ## Remove what was built (not var/)
	rm -rf node_modules/.installed */*/dist */dist */*/*.tsbuildinfo */*.tsbuildinfo
