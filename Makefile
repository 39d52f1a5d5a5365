# On a machine with python3 and make: `make demo` shows the main job, `make test` runs every check.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
PATHS := src tests examples bench

.PHONY: demo test fuzz fix bench lock clean chromium servers

demo: $(READY)
	@$(BIN)/python examples/demo.py

test: $(READY) chromium servers
	$(BIN)/ruff check $(PATHS)
	$(BIN)/ruff format --check $(PATHS)
	$(BIN)/mypy
	$(BIN)/pytest -n 2 --dist worksteal -m "not slow"

fuzz: $(READY) chromium servers
	HYPOTHESIS_PROFILE=fuzz $(BIN)/pytest -n 2 --dist worksteal -m "not slow"

fix: $(READY)
	$(BIN)/ruff check --fix $(PATHS)
	$(BIN)/ruff format $(PATHS)

bench: $(READY)
	$(BIN)/python -m bench

# A first run installs everything; a later one only when what is needed has changed.
$(READY): pyproject.toml requirements.lock
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $(READY)

# The web page is tested in Debian's Chromium, which is installed where it is missing and we may.
chromium:
	@command -v chromium >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
		&& apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium fonts-liberation >/dev/null; } \
		|| echo "There is no chromium here (apt-get install chromium): the tests of the web page are skipped."

# The distributed engine is tested on a real OpenSearch server, which needs Java 17 to 23 and npm.
servers: $(READY)
	@command -v java >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq \
		&& apt-get install -y -qq --no-install-recommends openjdk-17-jre-headless >/dev/null; } || true
	@$(BIN)/python -m tests.servers fetch opensearch

lock:
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --quiet \
		--extra all --group dev pyproject.toml -o requirements.lock

clean:
	rm -rf .venv .demo .mypy_cache .ruff_cache .pytest_cache .hypothesis
