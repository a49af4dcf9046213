# Each target sets up what it needs in .venv, from nothing but Python >= 3.11.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/ready

.PHONY: demo test check slow bench bench-gpu paper leaderboard errata readme guarantees format clean

demo: $(READY)  ## LinGapE on the paper's instance
	$(BIN)/lingape demo

test: $(READY)  ## every test but the slow ones; PostgreSQL and the browser are Debian's
	$(BIN)/pytest -n auto

check: $(READY)  ## format, lint, types, import contract
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

slow: $(READY)  ## statistical guarantees, hundreds of kills and large examples, some minutes
	$(BIN)/pip install --quiet --editable '.[dev,examples]'
	$(BIN)/pytest -m slow -rA

bench: $(READY)  ## speed, as ratios, also as benchmarks/results/speed.json
	$(BIN)/python -m benchmarks.speed

bench-gpu: $(READY)  ## speed, error rates and Figure 1 on an NVIDIA GPU, some minutes, into benchmarks/results
	$(BIN)/pip install --quiet --editable '.[dev,gpu]'
	$(BIN)/python -m benchmarks.gpu
	$(BIN)/python -m benchmarks.gpu_ties
	$(BIN)/python -m benchmarks.figure_1 gpu

paper: $(READY)  ## reproduce the paper into docs/paper, some minutes
	$(BIN)/lingape reproduce all --out docs/paper

leaderboard: $(READY)  ## compare all explorers, into docs/leaderboard, some minutes
	$(BIN)/lingape leaderboard --out docs/leaderboard

errata: $(READY)  ## what other readings of the paper would change (rows 3, 4, 13, 25 and 32 of ERRATA.md)
	$(BIN)/python -m benchmarks.errata

readme: $(READY)  ## rewrite what README.md and the guides print
	$(BIN)/python tests/console.py README.md
	$(BIN)/python tests/guides.py docs/guides/*.md docs/coming-from/*.md

guarantees: $(READY)  ## the experiments quoted in docs/bounds.md
	$(BIN)/python -m benchmarks.guarantees

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(READY): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "lingape needs Python 3.11 or later; pass one with make PYTHON=...")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --editable '.[dev]'
	touch $(READY)
