# The commands of this repository; README says which to use when.
#
#   make run     build `sealward` and start it
#   make test    every test, the browser's among them; installs what they need
#   make gate    what a change must pass: form, lints, documents, dependencies, tests
#   make bench   the benchmarks, release profile
#   make soak    long kills and long fuzzing

CARGO = cargo
# Where Node lands on machines whose own is too old.
TOOLS = target/tools
# Where `make bench` installs what it compares with; nothing else uses it.
RIVAL = target/rival
# How long `make test` fuzzes each parser, and `make soak`.
FUZZ_SECONDS = 30
SOAK_SECONDS = 1800

export PATH := $(CURDIR)/$(TOOLS)/bin:$(PATH)

.PHONY: run test gate bench soak prepare web form lints documents dependencies advisories types
.DEFAULT_GOAL = run

run:
	$(CARGO) build --release --locked -p sealward -p brokerd -p loopd
	target/release/sealward up

# The joint tests of loop and broker run both as programs; the tests of the loop may not depend on the broker's crate.
export SEALWARD_BROKERD := $(CURDIR)/target/debug/brokerd
export SEALWARD_PYTHON := $(CURDIR)/$(TOOLS)/python/bin/python

# The summary of the whole run comes last: nextest knows no tests in documents, so those go first.
test: prepare web
	$(CARGO) build --locked -p brokerd
	@if $(CARGO) nextest --version >/dev/null 2>&1; then \
		$(CARGO) test --doc -q -p proof --locked && \
		SEALWARD_FUZZ_SECONDS=$(FUZZ_SECONDS) $(CARGO) nextest run --workspace --locked; \
	else \
		SEALWARD_FUZZ_SECONDS=$(FUZZ_SECONDS) $(CARGO) test --workspace --locked; \
	fi

prepare:
	@tests/prepare.sh $(TOOLS)

# The page's own tests, before the others: they take seconds.
web: prepare
	node --test web/tests/*.test.mjs

gate: form lints documents dependencies types test

form:
	$(CARGO) fmt --check

lints:
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings

documents:
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --document-private-items --locked

dependencies:
	@$(CARGO) deny --version >/dev/null 2>&1 || $(CARGO) install --locked cargo-deny
	$(CARGO) deny --locked check bans licenses sources

# Apart from the gate: it needs the advisory database from the network, and a new advisory must not stop an old commit.
advisories:
	$(CARGO) deny --locked check advisories

types: prepare
	cd web && node node_modules/typescript/bin/tsc -p tsconfig.json

bench:
	$(CARGO) bench --locked -p proof --bench check
	$(CARGO) bench --locked -p store --bench pages
	@test -x $(RIVAL)/bin/hma || { python3 -m venv $(RIVAL) && $(RIVAL)/bin/pip install --quiet holdmyagent==0.5.0 hold-warden==0.1.1; }
	HMA_PYTHON=$(CURDIR)/$(RIVAL)/bin/python $(CARGO) bench --locked -p sealward --bench bench

soak: prepare
	SEALWARD_FUZZ_SECONDS=$(SOAK_SECONDS) SEALWARD_SOAK=1 $(CARGO) test --release --workspace --locked
