# `make` alone lists the targets. Every target sets up what it needs.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
MAKEFLAGS += --warn-undefined-variables --no-builtin-rules

TASK := flights# what to run; `make list` shows all
DEVICE := auto# where: auto, cpu or cuda
SEED := 0# of the split and of everything random
ROWS :=# of a generated table (`make synthetic`, TASK=synthetic), as 1e6
YEARS :=# of TASK=airline, as 2006-2019; 2019 if empty
PIPELINES :=# pipelines of the task, with commas; all if empty
REPEATS :=# timed runs of each pipeline
OUT :=# folder for the results, if not the usual one
ARGS :=# more options of the command, for the shell to read: ARGS='--sizes 0.1,1'
TESTS :=# folders or files for `make test`; all if empty
GPU ?= auto# packages to install: auto, cpu, cu12 or cu13
PYTHON := .venv/bin/python# another Python, whose environment is used as it is
# After the machine's own the one that the GPU packages are tested on.
PYTHON3 := python3 python3.12 python3.13 python3.14 python3.11# to build with: the first that fits

python = '$(PYTHON)'
contract_python = .venv-contract/bin/python
RUN = $(python) -m pipeline
DATA = '$(TASK)'$(if $(ROWS), --rows '$(ROWS)')$(if $(YEARS), --years '$(YEARS)')
CHOSEN = --device '$(DEVICE)'$(if $(PIPELINES), --pipelines '$(PIPELINES)')
WRITTEN = $(if $(REPEATS), --repeats '$(REPEATS)')$(if $(OUT), --out '$(OUT)')
BENCH = $(python) -m tools.bench $(@:bench-%=%) --seed '$(SEED)'$(if $(REPEATS), --repeats '$(REPEATS)') \
	$(ARGS) && $(python) -m tools.docs
PYTEST = OMP_NUM_THREADS=1 $(python) -m pytest --numprocesses logical --dist loadfile
SETUP = python=$$(tools/find-python 3.11 $(PYTHON3)) && "$$python" tools/setup.py $(PYTHON3)

VARIABLES = TASK DEVICE SEED ROWS YEARS PIPELINES REPEATS OUT ARGS TESTS GPU PYTHON PYTHON3
GIVEN := $(foreach v,$(.VARIABLES),$(if $(filter command,$(firstword $(origin $v))),$v))
UNKNOWN := $(filter-out $(VARIABLES) SHELL .% MAKE% MFLAGS GNUMAKEFLAGS VPATH CURDIR,$(GIVEN))
CLOSE = import difflib, sys; near = difflib.get_close_matches(sys.argv[1].upper(), sys.argv[2:], 1); \
	print(*(f"did you mean {each}?" for each in near))
ifneq ($(UNKNOWN),)
$(error $(strip unknown variable $(firstword $(UNKNOWN)); $(shell $(firstword $(PYTHON3)) -c \
	'$(CLOSE)' '$(firstword $(UNKNOWN))' $(VARIABLES)) see `make help`))
endif

.PHONY: help setup setup-bench setup-tables setup-docs setup-mlflow setup-release \
	setup-contract doctor list models new-task data fetched synthetic explain run compare report \
	tune gallery predict bench bench-preprocessing bench-programs bench-searches bench-prediction \
	bench-files bench-importance bench-growth bench-tables gpu-proof test test-full test-sklearn \
	test-examples test-mlflow fuzz test-contract contract-snapshot docs lint format types audit \
	lock release clean clean-venv clean-data

help: ## List the targets and variables
	@sed -n 's/^\([a-z-]*\):.*## /make \1|/p; s/^\([A-Z3]*\) [:?]= *\(.*\)# /\1=\2|/p' Makefile | \
		while IFS='|' read -r name text; do printf '  %-24s %s\n' "$$name" "$$text"; done
setup: ## Make the environment .venv, or bring it up to date
setup-bench: setup ## Add what the preprocessing is measured against to .venv
setup-tables: setup ## Add packages with real tables to .venv
setup-docs: setup ## Add what builds the docs site to .venv
setup-mlflow: setup ## Add MLflow to .venv
setup-release: setup ## Add what builds a release to .venv
ifeq ($(PYTHON),.venv/bin/python)
setup:
	@$(SETUP) --gpu '$(GPU)'
setup-bench setup-tables setup-docs setup-mlflow setup-release:
	@$(SETUP) --gpu '$(GPU)' --with $(@:setup-%=%)
endif
setup-contract:
	@$(SETUP) --gpu cu13 --venv .venv-contract
doctor: ## Say what this machine has, what is wrong and how to fix it
list: ## List the tasks: kind, rows, what is downloaded
models: ## List the saved models, tuned ones too
new-task: ## Make a task of your own table: ARGS='my.csv target --split time --by "sold on"'
doctor list models new-task: setup
	@$(RUN) $@ $(ARGS)
data: setup ## Fetch and verify the data of TASK
	$(RUN) data $(DATA) $(ARGS)
fetched: setup
	$(RUN) data $(DATA)
synthetic: setup ## Generate a table of ROWS rows into data/synthetic
	$(python) -m datasets.synthetic --rows '$(or $(ROWS),1e6)' --seed '$(SEED)' $(ARGS)
explain: setup ## Say where each step of TASK would run on DEVICE, and why; run nothing
	$(RUN) explain '$(TASK)' $(CHOSEN) $(ARGS)
run: ## Train and evaluate TASK once, on DEVICE
compare: ## Measure TASK on the CPU and, where there is one, on the GPU
report: ## Compare, then write the report and say where it is
tune: ## Search for the parameters of TASK: ARGS='--trials 50 --timeout 300'
run compare report tune: fetched
	$(RUN) $@ $(DATA) $(CHOSEN) --seed '$(SEED)'$(WRITTEN) $(ARGS)
gallery: setup ## Write a page over the reports that are there
	$(RUN) gallery$(WRITTEN)
predict: setup ## Predict the rows of a file: ARGS='MODEL IN OUT'
	$(RUN) predict --device '$(DEVICE)' $(ARGS)
bench: data setup-bench setup-mlflow ## Measure TASK on this machine's CPU, and all that the docs claim
	$(python) -m tools.bench all --seed '$(SEED)'$(if $(REPEATS), --repeats '$(REPEATS)') $(ARGS)
	$(RUN) report '$(TASK)' --device cpu --repeats '$(or $(REPEATS),5)' --out 'docs/results/$(TASK)-cpu'
	$(python) -m tools.docs
bench-files: setup-bench ## Measure files to predictions beside Polars, skrub and scikit-learn-intelex
bench-preprocessing: setup-bench ## Measure the preprocessing beside scikit-learn and skrub
bench-programs: setup ## Measure programs of everyday use beside plain scikit-learn, and unchanged ones
bench-searches: setup ## Measure searches beside scikit-learn's
bench-prediction: setup-mlflow ## Measure predictions of saved models
bench-importance: setup ## Measure the importance of columns beside scikit-learn's
bench-growth: setup ## Measure seconds and memory up to ten million rows
bench-files bench-preprocessing bench-programs bench-searches bench-prediction bench-importance \
bench-growth:
	$(BENCH)
bench-tables: setup-tables ## Hold tasks made of 20 real tables against programs written by hand
	$(python) -m pytest -m slow tests/task/test_real_tables.py $(ARGS)
gpu-proof: setup ## Show on a GPU what only a GPU can show; go on from before
	$(python) -m tools.gpu_proof$(if $(OUT), --out '$(OUT)') $(ARGS)
test: lint types ## Check style and types, then run the tests that are quick
	$(PYTEST) -m 'not slow and not alone' $(TESTS)
test-full: lint types ## Check style and types, then run all tests that need no GPU
	$(PYTEST) -m 'not alone' --hypothesis-profile full
	$(python) -m pytest -m alone
test-sklearn: setup ## Run scikit-learn's own tests with our classes in the places of its own
	OMP_NUM_THREADS=1 $(python) -m tools.sklearn_suite $(ARGS)
test-examples: setup ## Run scikit-learn's own examples, plain and accelerated
	OMP_NUM_THREADS=1 $(python) -m tools.examples $(ARGS)
fuzz: setup ## Run random programs in plain scikit-learn and in ours, from number SEED on
	$(python) -m tools.fuzz --seed '$(SEED)' $(ARGS)
test-contract: setup-contract ## Hold the GPU code against the real RAPIDS packages (no GPU needed)
	$(contract_python) -m pytest -m contract_live
test-mlflow: setup-mlflow ## Run the tests of models and results in MLflow
	OMP_NUM_THREADS=1 $(python) -m pytest -m mlflow tests/serving/test_mlflow_flavor.py \
		tests/benchmark/test_track.py
contract-snapshot: setup-contract ## Renew what is recorded of the RAPIDS packages
	$(contract_python) -m tests.contract.snapshot
docs: setup-docs ## Build the docs site, whose examples run: build/docs/html/index.html
	OMP_NUM_THREADS=1 $(python) -m sphinx -W --keep-going -b html docs build/docs/html $(ARGS)
lint: setup ## Check style and format
	$(python) -m ruff check .
	$(python) -m ruff format --check .
format: setup ## Fix style and format
	$(python) -m ruff check --fix .
	$(python) -m ruff format .
types: setup ## Check types
	$(python) -m mypy
audit: setup ## Look for known vulnerabilities of what is locked (needs a network)
	failed=0; for lock in requirements/*.txt; do echo "$$lock"; $(python) -m pip_audit --strict \
		--require-hashes --disable-pip --requirement "$$lock" || failed=1; done; exit $$failed

# RAPIDS decides first, for Python 3.12 and newer; the CPU lock has the same versions.
COMPILE = uv pip compile --universal --generate-hashes --no-annotate --no-emit-index-url \
	--quiet --custom-compile-command 'make lock' $(ARGS)
COMPILE_ALL = $(COMPILE) pyproject.toml --extra data --group dev
LIKE_CUDA = -c <(sed -n "s/^\([^ ]*==[^ ]*\).*/\1 ; python_version >= '3.12'/p" requirements/cu13.txt)
COMPILE_IMAGE = $(COMPILE) pyproject.toml --python-version 3.12 \
	$(addprefix --extra ,cluster data explain tune)
BESIDE_MLFLOW = --override <(printf '%s\n' 'pyarrow>=26' importlib-metadata)
lock: ## Hold requirements/*.txt to pyproject.toml (needs uv); ARGS=--upgrade takes the newest of all
	$(COMPILE) --python-version 3.11 --group build -o requirements/build.txt
	$(COMPILE_ALL) --python-version 3.12 --extra cu13 -o requirements/cu13.txt
	$(COMPILE_ALL) --python-version 3.11 --extra cpu $(LIKE_CUDA) -o requirements/cpu.txt
	$(COMPILE_ALL) --python-version 3.12 --extra cu12 -c requirements/cpu.txt -o requirements/cu12.txt
	for group in docs bench release tables; do $(COMPILE) --python-version 3.11 --group $$group \
		$(LIKE_CUDA) -c requirements/cpu.txt $$([ $$group != release ] || echo -c requirements/docs.txt) \
			-o requirements/$$group.txt; done
	$(COMPILE) --python-version 3.11 --group mlflow -c requirements/cpu.txt $(BESIDE_MLFLOW) \
		-o requirements/mlflow.txt
	$(COMPILE_IMAGE) --extra cpu --extra serve -c requirements/cpu.txt -c requirements/mlflow.txt \
		$(BESIDE_MLFLOW) -o requirements/image-cpu.txt
	$(COMPILE_IMAGE) --extra cu13 -c requirements/cu13.txt -o requirements/image-cu13.txt
release: setup-release ## Build the sdist and the wheel into dist, check them, install and try them
	rm -rf dist
	$(python) -m build --no-isolation --outdir dist .
	$(python) -m twine check --strict dist/*
	PYTEST_WHEEL_PYTHONS='$(PYTHON3)' $(python) -m pytest -m slow tests/test_wheel.py
clean: ## Remove environments and caches; data, runs and reports stay
	for venv in .venv .venv-contract; do [ ! -f "$$venv/pyvenv.cfg" ] || rm -rf -- "$$venv"; done
	rm -rf build/docs docs/auto_examples docs/generated gpu_tabular_pipeline.egg-info
	rm -rf .pytest_cache .ruff_cache .mypy_cache .hypothesis
	find pipeline datasets tasks tests tools -name __pycache__ -type d -prune -exec rm -rf {} +
clean-venv: ## Remove the environment .venv
	rm -rf .venv
clean-data: ## Remove the datasets, which `make data` makes again; all else in data/ stays
	@for file in data/*/manifest.json data/synthetic/*/manifest.json; do \
		folder=$${file%/*}; name=$${folder##*/}; \
		rm -rf -- "$$folder/.sizes" "$$folder/$$name.parquet" "$$file" "$${folder%/*}/.$$name.lock"; \
		rmdir "$$folder" 2>/dev/null || true; done; rm -rf data/raw
