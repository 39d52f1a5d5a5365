# On a machine with python3 and make: `make demo` shows the main job, `make test` runs every check.
PYTHON ?= python3
BIN := .venv/bin
BASE := .venv/.base
READY := .venv/.ready
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
PATHS := src tests examples bench training/tests website release conftest.py hatch_build.py
LOOPS := hatch_build.py $(wildcard src/shortlist/index/kernels/*.[ch])
# Tests start hundreds of Python processes. Without stored bytecode, each compiles all that it imports.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test page types suite test-fast coverage fuzz sanitize fix docs docs-serve bench dist wheels lock clean missing servers

demo: $(BASE)
	@$(BIN)/python examples/demo.py

# While types are checked, which takes one core, the other one fetches servers and begins with the suite.
test: $(READY) missing
	$(BIN)/ruff check $(PATHS)
	$(BIN)/ruff format --check $(PATHS)
	@$(MAKE) --no-print-directory -j 2 types page suite

# The code of the web page: unit tests by Node, format, lint and types by tools from npm, whose versions package.json pins.
# They are installed in build/page. Without Node, or without npm and its registry, the rest is skipped.
PAGE := build/page/node_modules/.bin
page:
	@if ! command -v node >/dev/null; then \
		echo "Skipping the checks of the page's code: Node is missing (Debian: apt-get install nodejs npm)."; \
	else \
		node --test --test-reporter=dot tests/web/unit/*.test.js && \
		if $(MAKE) --no-print-directory --silent build/page/.ready; then \
			$(PAGE)/biome check --error-on-warnings . && $(PAGE)/tsc -p .; \
		else \
			echo "Skipping format, lint and types of the page's code: npm cannot fetch biome and TypeScript."; \
		fi; \
	fi

build/page/.ready: package.json
	@mkdir -p build/page && cp package.json build/page
	@npm install --prefix build/page --no-package-lock --ignore-scripts --no-audit --no-fund --silent \
		--fetch-retries=1 --fetch-timeout=30000
	@touch $@

types:
	$(BIN)/mypy

suite: servers
	$(BIN)/pytest -n 2 --dist worksteal -m "not slow"

# For daily work: no browser, no server processes, no cluster.
test-fast: $(READY)
	$(BIN)/ruff check $(PATHS)
	$(BIN)/pytest -n 2 --dist worksteal -m "not slow and not cluster and not browser and not process"

# Branch coverage of all tests, processes that they start included: a line for each module that is not covered completely.
coverage: $(READY) missing servers
	rm -f .coverage .coverage.*
	$(BIN)/coverage run -m pytest -n 2 --dist worksteal -m "not slow"
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report --sort=cover

fuzz: $(READY) missing servers
	HYPOTHESIS_PROFILE=fuzz $(BIN)/pytest -n 2 --dist worksteal -m "not slow"

# The tests of the index and corrupted segments, with loops that report every access outside of an array. Needs gcc.
# Not run there: exceptions of ONNX Runtime, which a preloaded sanitizer cannot pass on, and a bus error, which it handles itself.
SANITIZED := ASAN_OPTIONS=detect_leaks=0:malloc_context_size=5 LD_PRELOAD="$$(gcc -print-file-name=libasan.so)"
sanitize: $(READY)
	CC=gcc $(BIN)/python hatch_build.py --sanitize
	@$(SANITIZED) $(BIN)/python -m bench.segment_fuzz $(INPUTS) \
		&& $(SANITIZED) $(BIN)/pytest -n 2 -m "not slow and not process and not cluster" -k "not TestOnnx and not bus_error" tests/index; \
		status=$$?; $(BIN)/python hatch_build.py; exit $$status

fix: $(READY)
	$(BIN)/ruff check --fix $(PATHS)
	$(BIN)/ruff format $(PATHS)
	@test ! -e build/page/.ready || $(PAGE)/biome check --write .

# The documentation site, in build/site. A broken link or reference is an error.
docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict -f website/mkdocs.yml
	@echo "The documentation is in build/site; make docs-serve shows it."

docs-serve: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs serve --quiet -f website/mkdocs.yml

bench: $(READY)
	$(BIN)/python -m bench

# What is published, in dist/: built, installed into empty environments and tried there. wheels: for all platforms.
dist: $(BASE)
	$(BIN)/python -m release build
	$(BIN)/python -m release check

wheels: $(BASE)
	$(BIN)/python -m release build --all-platforms

# uv takes a fifth of pip's time. Where it cannot be had or finds no packages, pip installs the same.
install = $(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r $(1) || $(PIP) --require-hashes -r $(1)

# The package and what it needs, without extras: all that the demo takes. A later run installs only if something has changed.
$(BASE): pyproject.toml requirements-base.lock $(LOOPS)
	$(PYTHON) -m venv .venv
	@$(PIP) uv==0.13.7 || true
	@$(call install,requirements-base.lock)
	$(PIP) --no-deps --no-build-isolation -e .
	@touch $(BASE)

# Everything else that the tests, the documentation and the benchmarks take. Without a C compiler, Zig's compiles the loops.
$(READY): $(BASE) requirements.lock
	@$(call install,requirements.lock)
	@command -v cc >/dev/null || { $(PIP) ziglang==0.17.0 && $(BIN)/python hatch_build.py; }
	@touch $(READY)

# Nothing is installed on the system: what is missing is named, and its tests are skipped.
missing:
	@command -v chromium >/dev/null || echo "Skipping the tests of the web page: chromium is missing (Debian: apt-get install chromium)."
	@command -v java >/dev/null || echo "Skipping the tests on OpenSearch: Java 17 to 23 is missing (Debian: apt-get install openjdk-17-jre-headless)."

# The distributed engine is tested on a real OpenSearch server, and parity by the tests of ir. Both are fetched into a cache.
servers: $(READY)
	@$(BIN)/python -m tests.servers fetch opensearch
	@$(BIN)/python -m tests.parity.ir_suite

lock:
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --quiet \
		--extra all --group dev pyproject.toml -o requirements.lock
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --quiet \
		--group build --constraints requirements.lock pyproject.toml -o requirements-base.lock

clean:
	rm -rf .venv .demo build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
