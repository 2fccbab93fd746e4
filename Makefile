# `make run` starts the app, `make test` proves it; both set up what they need.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check

# The lessons need one thread of torch, and two make tiny models much slower.
export OMP_NUM_THREADS := 1

.PHONY: run test check fix browser screenshots bench load clean

run: $(VENV)/app
	$(BIN)/python -m streamlit run app.py

test: check browser
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder  # two browsers fill two cores

check: $(VENV)/dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

fix: $(VENV)/dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

browser: $(VENV)/dev
	$(BIN)/python -m tests.browser.find_chromium --install
	$(BIN)/python -m tests.browser.proxy --install

screenshots: browser
	$(BIN)/python -m tests.browser.screenshots

bench: browser
	$(BIN)/python -m benchmarks

load: browser
	$(BIN)/python -m benchmarks.load

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis

# On Linux the registry's torch is a CUDA build of several gigabytes. Without a GPU the CPU build
# is wanted; where its index cannot be reached, the plain requirement has to do.
TORCH := $(shell grep '^torch==' requirements.txt)
CPU_INDEX := https://download.pytorch.org/whl/cpu

$(VENV)/app: requirements.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@if [ "$$(uname -s)" = Linux ] && ! command -v nvidia-smi >/dev/null; then \
		$(PIP) install -q --no-deps --retries 0 --timeout 15 --index-url $(CPU_INDEX) $(TORCH) \
			|| echo "No CPU index here; taking torch from the registry."; \
	fi
	$(PIP) install -q -r requirements.txt
	touch $@

$(VENV)/dev: $(VENV)/app requirements-dev.txt requirements-text.txt
	$(PIP) install -q -r requirements-dev.txt
	touch $@
