# Each target sets up what it needs in .venv, from nothing but Python >= 3.11.
PYTHON ?= python3
BIN := .venv/bin
DEMO := .venv/demo
READY := .venv/ready
DOCS := .venv/docs
RELEASE := .venv-release/bin
SCHEMA := $(BIN)/check-jsonschema --quiet --builtin-schema
# The second variable is for what builds lingape; older versions of pip read the first for it too.
INSTALL := PIP_CONSTRAINT=constraints.txt PIP_BUILD_CONSTRAINT=constraints.txt \
	$(BIN)/pip install --quiet --editable
RELEASE_TOOLS := build editables twine uv
COMPILE = $(RELEASE)/uv pip compile --quiet --python-version 3.11 --no-annotate --no-header \
	--no-emit-index-url --no-emit-find-links
FLOORS_OF := --extra all --extra dask
# Tests have the newest of these. With pyparsing 3.3, matplotlib before 3.10.7 warns, which fails tests.
TESTS_NEED := httpx hypothesis pytest pytest-xdist pyyaml scipy
FLOORS_TOOLS := $(TESTS_NEED) 'pyarrow==15'
FLOORS_BESIDE := 'pyparsing>=3.2,<3.3'

.PHONY: demo test check slow coverage bench bench-gpu paper leaderboard errata readme guarantees docs format constraints floors newest release-check clean

demo: $(DEMO)  ## LinGapE on the paper's instance
	$(BIN)/lingape demo

test: $(READY)  ## every test but the slow ones; PostgreSQL and the browser are Debian's
	$(BIN)/pytest -n auto

check: $(READY)  ## format, lint, types, import contract, and the files that other programs read
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(SCHEMA) vendor.github-workflows .github/workflows/*.yml
	$(SCHEMA) vendor.dependabot .github/dependabot.yml
	$(SCHEMA) vendor.github-issue-forms .github/ISSUE_TEMPLATE/[!c]*.yml
	$(SCHEMA) vendor.github-issue-config .github/ISSUE_TEMPLATE/config.yml
	$(SCHEMA) vendor.citation-file-format CITATION.cff
	$(SCHEMA) vendor.compose-spec compose.yaml
	$(BIN)/zizmor --offline --persona=auditor --quiet .github
	$(BIN)/repo-review --show err .

slow: $(READY)  ## statistical guarantees, hundreds of kills and large examples, some minutes
	$(INSTALL) '.[dev,examples]'
	$(BIN)/pytest -m slow -rA

coverage: $(READY)  ## which lines of the library the tests run, and which not, some minutes longer than test
	$(BIN)/pytest -n auto --cov --cov-report=term

bench: $(READY)  ## speed, as ratios, also as benchmarks/results/speed.json
	$(BIN)/python -m benchmarks.speed

bench-gpu: $(READY)  ## speed, error rates and Figure 1 on an NVIDIA GPU, some minutes, into benchmarks/results
	$(INSTALL) '.[dev,gpu]'
	$(BIN)/python -m benchmarks.gpu
	$(BIN)/python -m benchmarks.gpu_ties
	$(BIN)/python -m benchmarks.figure_1 gpu

paper: $(READY)  ## reproduce the paper into docs/paper, some minutes
	$(BIN)/lingape reproduce all --out docs/paper

leaderboard: $(READY)  ## compare all explorers, into docs/leaderboard, some minutes
	$(BIN)/lingape leaderboard --max-pulls 100000 --out docs/leaderboard

errata: $(READY)  ## what other readings of the paper would change (rows 3, 4, 13, 25 and 32 of ERRATA.md)
	$(BIN)/python -m benchmarks.errata

readme: $(READY)  ## rewrite what README.md and pages of the site print
	$(BIN)/python tests/console.py README.md
	$(BIN)/python tests/guides.py docs/start.md docs/trials.md docs/simulations.md docs/guides/*.md docs/coming-from/*.md

guarantees: $(READY)  ## the experiments quoted in docs/bounds.md
	$(BIN)/python -m benchmarks.guarantees

docs: $(DOCS)  ## the site, into docs/_build/html: tutorials run, links and pages are checked
	$(BIN)/sphinx-build --fresh-env --fail-on-warning --keep-going --quiet --builder html docs docs/_build/html
	$(BIN)/python docs/check_site.py docs/_build/html

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

constraints: $(RELEASE)/uv  ## write the newest versions of all that the targets install into constraints.txt, the oldest into floors.txt
	printf '%s\n' $(RELEASE_TOOLS) | $(COMPILE) --universal --all-extras --upgrade --output-file constraints.txt pyproject.toml -
	printf '%s\n' $(FLOORS_BESIDE) | $(COMPILE) $(FLOORS_OF) --resolution lowest-direct --output-file .venv-release/lowest.txt pyproject.toml -
	printf '%s\n' $(FLOORS_TOOLS) | $(COMPILE) $(FLOORS_OF) --constraint .venv-release/lowest.txt --output-file floors.txt pyproject.toml -

floors: $(RELEASE)/uv  ## tests with Python 3.11 and the oldest versions that pyproject.toml allows
	$(RELEASE)/uv venv --quiet --clear --python 3.11 .venv-floors
	$(RELEASE)/uv pip install --quiet --python .venv-floors --requirement floors.txt
	$(RELEASE)/uv pip install --quiet --python .venv-floors --build-constraints constraints.txt --no-deps --editable .
	.venv-floors/bin/pytest -n auto $(FLOORS)

newest: $(RELEASE)/uv  ## tests with the newest versions, whatever constraints.txt has: what users get
	$(RELEASE)/uv venv --quiet --clear --python $(RELEASE)/python .venv-newest
	$(RELEASE)/uv pip install --quiet --python .venv-newest --upgrade --editable '.[all,dask]' $(TESTS_NEED) pyarrow
	.venv-newest/bin/pytest -n auto

release-check: $(RELEASE)/uv  ## build the source archive and the wheel into dist, and try them
	.ci/release

clean:
	rm -rf .venv .venv-floors .venv-newest .venv-release .coverage* .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache dist docs/_build

$(DEMO): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "lingape needs Python 3.11 or later; pass one with make PYTHON=...")'
	test -x $(BIN)/pip || $(PYTHON) -m venv --clear .venv
	$(INSTALL) '.[sim]'
	touch $@

$(READY): $(DEMO)
	$(INSTALL) '.[dev]'
	touch $@

$(DOCS): $(READY)
	$(INSTALL) '.[dev,docs]'
	touch $@

$(RELEASE)/uv: constraints.txt
	$(PYTHON) -m venv .venv-release
	$(RELEASE)/pip install --quiet --constraint constraints.txt $(RELEASE_TOOLS)
	touch $@
