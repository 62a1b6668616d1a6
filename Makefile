# `make` alone lists what can be made. Every target sets up what it needs.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
MAKEFLAGS += --warn-undefined-variables --no-builtin-rules

TASK := flights
DEVICE := auto
SEED := 0
ROWS :=
YEARS :=
OPTIONS :=
OUT :=
MODEL :=
IN :=
COPY_COLUMNS :=
PIPELINES :=
TRIALS :=
TIMEOUT :=
FROM :=
# Of `make new-task`: as they are in the environment too, where no shell and no make reads them.
TABLE_OPTIONS := FILE TARGET KIND FEATURES IGNORE POSITIVE SPLIT BY CUT WEIGHT MIN_ROWS ENCODING \
	DELIMITER DECIMAL MISSING KEEP DATES STRAY FORCE DRY_RUN
FILE ?=
TARGET ?=
KIND ?=
FEATURES ?=
IGNORE ?=
POSITIVE ?=
SPLIT ?=
BY ?=
CUT ?=
WEIGHT ?=
MIN_ROWS ?=
ENCODING ?=
DELIMITER ?=
DECIMAL ?=
MISSING ?=
KEEP ?=
DATES ?=
STRAY ?=
FORCE ?=
DRY_RUN ?=
unexport $(TABLE_OPTIONS)
# Some systems have a NAME in the environment, their own.
NAME :=
REPEATS :=
PROGRAMS :=
BUDGET :=
MINUTES :=
SECONDS := 600
CASES :=
TESTS :=
UPGRADE :=
GPU ?= auto
# After the machine's own the one that the GPU packages are tested on.
PYTHON3 := python3 python3.12 python3.13 python3.14 python3.11
UV := uv

VENV := .venv
CONTRACT_VENV := .venv-contract
PYTHON := $(VENV)/bin/python
CONTRACT_PYTHON := $(CONTRACT_VENV)/bin/python

# Taken as they are given: a `$` in them is no variable of make.
TEXTS = TASK MODEL IN COPY_COLUMNS DEVICE SEED ROWS YEARS OUT PIPELINES TRIALS TIMEOUT FROM REPEATS \
	PYTHON
$(foreach name,$(TEXTS),$(eval override $(name) := $$(value $(name))))
# One word of the shell, whatever is in it.
quoted = '$(subst ','\'',$($(1)))'
python = $(call quoted,PYTHON)
RUN = $(python) -m pipeline
given = $(if $($(2)), $(1) $(call quoted,$(2)))
ASKED = $(call given,--rows,ROWS)$(call given,--years,YEARS)
RUN_OPTIONS = --device $(call quoted,DEVICE) --seed $(call quoted,SEED)$(call given,--out,OUT)$(call \
	given,--pipelines,PIPELINES)$(ASKED)
BENCH = $(python) -m tools.bench $(1) --seed '$(SEED)'$(if $(REPEATS), --repeats '$(REPEATS)')
QUICK = not slow and not alone
PYTEST = OMP_NUM_THREADS=1 $(python) -m pytest --numprocesses logical --dist loadfile
COMPARE_OPTIONS = $(RUN_OPTIONS)$(call given,--repeats,REPEATS)$(if $(OPTIONS), $(OPTIONS))
SETUP = python=$$(tools/find-python $(PYTHON3)) && "$$python" tools/setup.py --pythons '$(PYTHON3)'

.PHONY: help
help: ## List the targets and variables
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' $(firstword $(MAKEFILE_LIST)) | \
		while IFS='|' read -r target text; do printf '%-26s %s\n' "$$target" "$$text"; done
	@echo
	@echo 'Variables, with their defaults, as in `make report TASK=flights DEVICE=cpu`:'
	@echo '  TASK=flights     what to run; `make list` shows all'
	@echo '  DEVICE=auto      where: auto, cpu or cuda'
	@echo '  SEED=0           of the split and of everything random'
	@echo '  ROWS=            of a generated table: `make synthetic` (1e6), TASK=synthetic, ranking, …'
	@echo '  YEARS=           of TASK=airline, as 2006-2019; empty for 2019'
	@echo '  OPTIONS=         of `make synthetic`, as in OPTIONS="--kind ranking --columns 50"; of'
	@echo '                   `make compare` and `make report`: OPTIONS="--sizes 0.1,0.3,1.0"; of'
	@echo '                   `make predict`: OPTIONS="--cluster local --workers 4"; of'
	@echo '                   `make tune`: OPTIONS="--cv 10 --no-prune"; of'
	@echo '                   `make gallery`: OPTIONS="--also FOLDER" of another machine; of'
	@echo '                   `make explain`: OPTIONS="--html steps.html"; of'
	@echo '                   `make gpu-proof`: OPTIONS="--stages import,tests --failed"; tests for'
	@echo '                   `make test-sklearn`: OPTIONS="preprocessing/tests/test_data.py"'
	@echo '  OUT=             folder for the results, if not the usual one; file of predictions'
	@echo '  MODEL= IN=       folder of a saved model (`make models`), and table of rows, for predict'
	@echo '  COPY_COLUMNS=    columns of IN to copy to OUT, as in a,"b, c"'
	@echo '  PIPELINES=       pipelines of the task, with commas; empty for all'
	@echo '  TRIALS= TIMEOUT= of each search of `make tune`: candidates (50), seconds (any number)'
	@echo '  FROM=            what was downloaded by hand for `make data`: a file or a folder'
	@echo '  FILE= TARGET=    a table of your own and its column to predict, for `make new-task`'
	@echo '  NAME= KIND= FEATURES= IGNORE= POSITIVE= SPLIT= BY= CUT= WEIGHT= MIN_ROWS= ENCODING='
	@echo '  DELIMITER= DECIMAL= MISSING= KEEP= DATES= STRAY= FORCE= DRY_RUN='
	@echo '                   of `make new-task`, as `python -m pipeline new-task --help` has them'
	@echo '  REPEATS=         timed runs of each (5 in a report; 3 is quicker); empty for the usual number'
	@echo '  PROGRAMS=        of `make bench-programs`, with commas; empty for all'
	@echo '  BUDGET=          seconds that a first run of plain scikit-learn may take there; empty for 10'
	@echo '  SECONDS=600      after which `make fuzz` starts no case; CASES= how many, from number SEED on'
	@echo '  MINUTES=         for a call of `make gpu-proof`; empty for 9'
	@echo '  TESTS=           folders or files for `make test`; empty for all'
	@echo '  GPU=auto         packages to install: auto, cpu, cu12 or cu13'
	@echo '  PYTHON3=         Python to build with, if not the first of 3.11 to 3.14 found (for a GPU 3.12)'
	@echo '  PYTHON=          use the environment of this Python as it is'

.PHONY: setup
.PHONY: setup-bench
.PHONY: setup-tables
ifeq ($(PYTHON),$(VENV)/bin/python)
setup: ## Make the environment .venv, or bring it up to date
	@$(SETUP) --venv $(VENV) --extra '$(GPU)'
setup-bench: setup ## Add what the preprocessing is measured against to .venv
	@$(SETUP) --venv $(VENV) --extra '$(GPU)' --with bench
setup-tables: setup ## Add packages with real tables to .venv
	@$(SETUP) --venv $(VENV) --extra '$(GPU)' --with tables
else
setup-bench setup-tables: setup
setup:
	@printf '[setup] using %s as it is\n' $(python)
endif

.PHONY: doctor
doctor: setup ## Say what this machine has, what is wrong and how to fix it
	@$(RUN) doctor

.PHONY: list
list: setup ## List the tasks: kind, rows, what is to be downloaded
	@$(RUN) list

.PHONY: data
data: setup ## Fetch and verify the data of TASK
	$(RUN) data $(call quoted,TASK)$(call given,--from,FROM)$(ASKED)

.PHONY: synthetic
synthetic: setup ## Generate a table of ROWS rows into data/synthetic, with OPTIONS
	$(python) -m datasets synthetic --rows '$(or $(ROWS),1e6)' --seed '$(SEED)' $(OPTIONS)

.PHONY: new-task
$(foreach name,NAME $(TABLE_OPTIONS),$(eval new-task: export NEW_TASK_$(name) := $$(value $(name))))
new-task: setup ## Make a task of your own table: FILE=my.csv TARGET=column
	@$(RUN) new-task

.PHONY: explain
explain: setup ## Say where each step of TASK would run on DEVICE, and why; run nothing
	$(RUN) explain $(call quoted,TASK) --device $(call quoted,DEVICE)$(call \
		given,--pipelines,PIPELINES)$(if $(OPTIONS), $(OPTIONS))

.PHONY: run
run: data ## Train and judge TASK once, on DEVICE
	$(RUN) run $(call quoted,TASK) $(RUN_OPTIONS)

.PHONY: compare
compare: data ## Measure TASK on the CPU and, where there is one, on the GPU
	$(RUN) compare $(call quoted,TASK) $(COMPARE_OPTIONS)

.PHONY: report
report: data ## Compare, then write the report and say where it is
	$(RUN) report $(call quoted,TASK) $(COMPARE_OPTIONS)

.PHONY: tune
tune: data ## Search for the parameters of TASK: TRIALS candidates of each pipeline, for TIMEOUT seconds
	$(RUN) tune $(call quoted,TASK) $(RUN_OPTIONS)$(call given,--trials,TRIALS)$(call \
		given,--timeout,TIMEOUT)$(if $(OPTIONS), $(OPTIONS))

.PHONY: gallery
gallery: setup ## Report on all tasks whose data is there, with an index page
	$(RUN) gallery --device $(call quoted,DEVICE)$(call given,--repeats,REPEATS)$(call \
		given,--out,OUT)$(if $(OPTIONS), $(OPTIONS))

.PHONY: predict
predict: setup ## Predict the rows of IN with MODEL, into OUT
	$(RUN) predict $(call quoted,MODEL) $(call quoted,IN) $(call quoted,OUT) \
		--device $(call quoted,DEVICE)$(call given,--copy-columns,COPY_COLUMNS) $(OPTIONS)

.PHONY: models
models: setup ## List the saved models: task, metrics, when they were made
	$(RUN) models

.PHONY: bench
bench: data setup-bench ## Measure this machine's CPU on TASK, then all that the docs claim
	$(RUN) report '$(TASK)' --device cpu --repeats '$(or $(REPEATS),7)' \
		--out 'docs/results/$(TASK)-cpu'
	$(call BENCH,preprocessing)
	$(call BENCH,wrapper)
	$(call BENCH,streaming)
	$(call BENCH,cluster)
	$(call BENCH,prediction)
	$(call BENCH,importance)
	$(python) -m tools.docs

.PHONY: bench-preprocessing
bench-preprocessing: setup-bench ## Measure the preprocessing beside scikit-learn, skrub and Polars
	$(call BENCH,preprocessing)
	$(python) -m tools.docs

.PHONY: bench-programs
bench-programs: setup-bench ## Measure PROGRAMS of ROWS rows beside plain scikit-learn, within BUDGET
	$(call BENCH,programs)$(if $(PROGRAMS), --cases '$(PROGRAMS)')$(if $(OUT), --out '$(OUT)')$(if \
		$(ROWS)$(BUDGET), --set$(if $(ROWS), rows='$(ROWS)')$(if $(BUDGET), budget='$(BUDGET)'))
	$(if $(OUT),,$(python) -m tools.bench.plot && $(python) -m tools.docs)

.PHONY: bench-wrapper
bench-wrapper: setup ## Measure what Accelerated costs beside the bare estimator
	$(call BENCH,wrapper)
	$(python) -m tools.docs

.PHONY: bench-tuning
bench-tuning: setup-bench ## Measure searches on ROWS rows: shared rows, Search, two workers
	$(call BENCH,tuning)$(if $(ROWS), --set rows='$(ROWS)')
	$(call BENCH,search)$(if $(ROWS), --set rows='$(ROWS)')
	$(call BENCH,search-workers)$(if $(ROWS), --set rows='$(ROWS)')
	$(python) -m tools.bench.plot
	$(python) -m tools.docs

.PHONY: bench-streaming
bench-streaming: setup ## Measure fits from the disk, and with a hard limit, beside fits in memory
	$(call BENCH,streaming)
	$(python) -m tools.docs

.PHONY: bench-cluster
bench-cluster: setup ## Measure two workers of Dask beside one process
	$(call BENCH,cluster)
	$(python) -m tools.docs

.PHONY: bench-prediction
bench-prediction: setup ## Measure predictions of saved models: one row, a matrix, a long file
	$(call BENCH,prediction)
	$(python) -m tools.docs

.PHONY: bench-importance
bench-importance: setup ## Measure the importance of columns beside scikit-learn's function
	$(call BENCH,importance)
	$(python) -m tools.docs

.PHONY: bench-scaling
bench-scaling: setup ## Measure how fits from the disk grow with the rows
	$(call BENCH,scaling)
	$(python) -m tools.docs

.PHONY: bench-tables
bench-tables: setup-tables ## Hold tasks made of 20 real tables against programs written by hand
	$(python) -m tools.own_tables $(if $(OUT),--out '$(OUT)')$(if $(OPTIONS), $(OPTIONS))

.PHONY: gpu-proof
gpu-proof: setup ## Show on a GPU what only a GPU can show, within MINUTES; go on from before
	$(python) -m tools.gpu_proof $(if $(MINUTES),--minutes '$(MINUTES)')$(call given,--out,OUT) $(OPTIONS)

.PHONY: test
test: lint types ## Check style and types, then run the tests that are quick
	$(PYTEST) -m '$(QUICK)' $(TESTS)

.PHONY: test-full
test-full: lint types ## Check style and types, then run all tests that need no GPU
	$(PYTEST) -m 'not alone' --hypothesis-profile full
	$(python) -m pytest -m alone

.PHONY: test-sklearn
test-sklearn: setup ## Run scikit-learn's own tests with our classes in the places of its own
	OMP_NUM_THREADS=1 $(python) -m tools.sklearn_suite $(OPTIONS)

.PHONY: fuzz
fuzz: setup ## Run random programs in plain scikit-learn and in ours: CASES from SEED on, for SECONDS
	$(python) -m tools.fuzz --seed '$(SEED)' --seconds '$(SECONDS)'$(if $(CASES), --cases '$(CASES)')

.PHONY: test-contract
test-contract: setup-contract ## Hold the GPU code against the real RAPIDS packages (no GPU needed)
	$(CONTRACT_PYTHON) -m pytest -m contract_live

.PHONY: contract-snapshot
contract-snapshot: setup-contract ## Renew what is recorded of the RAPIDS packages
	$(CONTRACT_PYTHON) -m tests.contract.snapshot

.PHONY: audit
audit: setup ## Look for known vulnerabilities of what is locked (needs a network)
	failed=0; for lock in requirements/*.txt; do echo "$$lock"; $(python) -m pip_audit --strict \
		--require-hashes --disable-pip --requirement "$$lock" || failed=1; done; exit $$failed

.PHONY: setup-contract
setup-contract:
	@$(SETUP) --venv $(CONTRACT_VENV) --extra cu13

.PHONY: lint
lint: setup ## Check style and format
	$(python) -m ruff check .
	$(python) -m ruff format --check .

.PHONY: format
format: setup ## Fix style and format
	$(python) -m ruff check --fix .
	$(python) -m ruff format .

.PHONY: types
types: setup ## Check types
	$(python) -m mypy

# One resolution for all: what the CPU lock shares with the others has the same version. RAPIDS
# decides first; it is for Python 3.12 and newer, and so is what it decides.
COMPILE = $(UV) pip compile --universal --generate-hashes --no-annotate --no-emit-index-url \
	--quiet --custom-compile-command 'make lock' $(if $(UPGRADE),--upgrade)
COMPILE_ALL = $(COMPILE) pyproject.toml --group tasks --group dev
LIKE_CUDA = -c <(sed -n "s/^\([^ ]*==[^ ]*\).*/\1 ; python_version >= '3.12'/p" requirements/cu13.txt)

.PHONY: lock
lock: ## Hold requirements/*.txt to pyproject.toml (needs uv); UPGRADE=1 takes the newest of all
	@command -v $(UV) >/dev/null || { echo 'make lock needs uv: python3 -m pip install uv' >&2; exit 2; }
	$(COMPILE) --python-version 3.11 --group build -o requirements/build.txt
	$(COMPILE_ALL) --python-version 3.12 --extra cu13 -o requirements/cu13.txt
	$(COMPILE_ALL) --python-version 3.11 --extra cpu $(LIKE_CUDA) -o requirements/cpu.txt
	$(COMPILE_ALL) --python-version 3.12 --extra cu12 -c requirements/cpu.txt -o requirements/cu12.txt
	for group in bench tables; do \
		$(COMPILE) --python-version 3.11 --group $$group $(LIKE_CUDA) -c requirements/cpu.txt \
			-o requirements/$$group.txt; done

.PHONY: clean
clean: ## Remove environments and caches; data, runs and reports stay
	for venv in '$(VENV)' '$(CONTRACT_VENV)'; do [ ! -f "$$venv/pyvenv.cfg" ] || rm -rf -- "$$venv"; done
	rm -rf .pytest_cache .ruff_cache .mypy_cache .hypothesis gpu_tabular_pipeline.egg-info
	find pipeline datasets tasks tests tools -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: clean-venv
clean-venv: ## Remove the environment .venv
	rm -rf $(VENV)

# Of a dataset go its manifest and the files that this describes; a link is not followed.
.PHONY: clean-data
clean-data: ## Remove the datasets, which `make data` makes anew; all else in data/ stays
	@[ -d data ] && [ ! -L data ] || exit 0; rm -rf data/raw; \
	for folder in data/synthetic/*/ data/*/; do folder=$${folder%/}; name=$${folder##*/}; \
		[ ! -L "$$folder" ] || continue; \
		if [ -f "$$folder/manifest.json" ]; then \
			rm -f -- "$$folder/manifest.json" "$$folder/$$name.parquet" "data/.$$name.lock"; fi; \
		if [ -f "$$folder/_manifest.json" ]; then \
			rm -f -- "$$folder/_manifest.json" "$$folder"/part-*.parquet; fi; \
		[ -L "$$folder/.sizes" ] || rm -f -- "$$folder"/.sizes/*-seed*.{parquet,part}; \
		rmdir -- "$$folder/.sizes" "$$folder" 2>/dev/null || true; \
	done; rmdir --ignore-fail-on-non-empty data
