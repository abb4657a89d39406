# make demo   builds longwire and shows its whole story; needs a C compiler and Rust
# make dist   packages for others, in target/dist: .deb, .rpm, wheel, npm, tarball, container file, symbols, list of parts, checksums (docs/install.md)
# make check-dist  installs them in clean roots, each way, and runs the demonstration there as a user without rights; as root
# make jdbc   builds longwire-jdbc.jar, which JDBC drivers are reached through (ping, load, tune with --driver)
# make check  while working, within a minute once all is built: formatting, lints, and the tests that need a Rust toolchain alone (no server, no
#             browser, no Java, no root). It installs nothing
# make test   all checks: formatting, lints, every test (real servers included), licences and advisories. Tests that hold measured times
#             against bounds come last and one at a time: see `timing` below. At its end: what each phase took, the slowest tests, each fault.
#             Programs in other languages that tests need are built once and kept in ~/.cache/longwire
# make timing those tests alone
#
# make golden  compares the predictions of tests/golden with the accepted ones (also in make test); make golden-accept REASON="why" accepts them
#
# make docs   makes the site of README.md and docs/ in target/book, and checks its links, and its search where node is; needs a Rust toolchain (for mdBook) and python3
# make pictures  makes the pictures of README.md again, from runs of its own
#
# make lab-wordpress, lab-bulk, lab-pgbench, lab-compression, lab-estate   the labs of labs/, measured beside predicted; as root, or (but for
#                       lab-compression) where the system allows unprivileged user namespaces
#
# make toxiproxy-clients   toxiproxy's own tests, its command line and its clients for Go, Python and Java, against `relay --api`; needs Go
#
# All install what is missing (Debian, Ubuntu) and may be run again and again.

export PATH := $(PATH):$(HOME)/.cargo/bin

.PHONY: demo golden golden-accept docs pictures dist check-dist jdbc check test timing bench-read lab-wordpress lab-bulk lab-pgbench lab-compression lab-estate bench-link bench-echo bench-tunnel bench-tune bench-predictions bench-frameworks toxiproxy-clients

# The profile `demo` builds in half the time of the release and optimises less; it is put where the release would be.
demo:
	scripts/setup.sh demo
	@echo "Building longwire: this takes three to four minutes the first time."
	cargo build --profile demo --locked --package longwire
	@mkdir -p "$${CARGO_TARGET_DIR:-target}"/release && install "$${CARGO_TARGET_DIR:-target}"/demo/longwire "$${CARGO_TARGET_DIR:-target}"/release/longwire
	@echo
	@"$${CARGO_TARGET_DIR:-target}"/release/longwire demo --html "$${CARGO_TARGET_DIR:-target}"/longwire-demo.html

docs:
	scripts/setup.sh docs
	scripts/docs.sh

pictures:
	scripts/setup.sh pictures
	scripts/pictures.sh

dist:
	scripts/setup.sh dist
	scripts/dist.sh

check-dist:
	scripts/setup.sh check-dist
	scripts/check-dist.sh

jdbc:
	scripts/setup.sh jdbc
	scripts/jdbc-bridge.sh
	for kind in debug release; do \
	    mkdir -p "$${CARGO_TARGET_DIR:-target}/$$kind" && cp bridges/jdbc/target/longwire-jdbc.jar "$${CARGO_TARGET_DIR:-target}/$$kind/" || exit 1; \
	done

# Tests of `make check`. A crate whose tests all qualify is named as a whole; of others the files are, since a new one may well start a server.
# Left to `make test` for their time alone: splits and strangers of wire, and the crate predict.
CHECK_CRATES := longwire-model longwire-analysis longwire-link longwire-tunnel longwire-key-log
CHECK_WIRE := drda informix lost_bytes memory mysql postgres recordings
CHECK_CAPTURE := bounds damage differential formats links lost_packets reassembly several_files timing
CHECK_REPORT := agree documented hostile page round_trip views
CHECK_LONGWIRE := captures content errors help inert joined lab_config observation parallel

check:
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	cargo test --locked $(addprefix --package ,$(CHECK_CRATES)) --lib --tests
	cargo test --locked --package longwire-wire --lib $(addprefix --test ,$(CHECK_WIRE))
	cargo test --locked --package longwire-capture --lib $(addprefix --test ,$(CHECK_CAPTURE))
	cargo test --locked --package longwire-report --lib $(addprefix --test ,$(CHECK_REPORT))
	cargo test --locked --package longwire-pipeline --package longwire-lab --lib
	cargo test --locked --package longwire --test files -- $(addsuffix ::,$(CHECK_LONGWIRE))
	cargo test --locked --package longwire-testbed --test architecture --test doc_links --test wording

test:
	@since=$$(date +%s) && scripts/setup.sh test && python3 scripts/gate.py --since $$since

# Tests marked `#[ignore = "timing: ..."]`: other work on the machine may make them fail, so they run one at a time and last. One that fails
# prints this machine's own floor.
timing:
	scripts/test-tools.sh
	. scripts/capture-right.sh && PATH="$${CARGO_TARGET_DIR:-$$PWD/target}/tools:$$PATH" \
	    cargo nextest run --workspace --locked --features longwire/oracle --profile timing --run-ignored only

GOLDEN := cargo test --package longwire --locked --features longwire/oracle --test golden

golden:
	$(GOLDEN)

golden-accept:
	LONGWIRE_GOLDEN_SCALES=1 $(GOLDEN) bounds_are_scaled
	LONGWIRE_GOLDEN_ACCEPT="$(REASON)" $(GOLDEN) predictions_are_those_accepted

bench-read:
	scripts/setup.sh bench
	bench/read.sh

lab-wordpress:
	scripts/setup.sh lab-wordpress
	cargo build --release --locked --package longwire
	"$${CARGO_TARGET_DIR:-target}"/release/longwire lab run labs/wordpress.toml
	"$${CARGO_TARGET_DIR:-target}"/release/longwire lab run labs/wordpress-two-addresses.toml
	"$${CARGO_TARGET_DIR:-target}"/release/longwire lab run labs/wordpress-fastcgi.toml

lab-bulk:
	scripts/setup.sh lab
	cargo build --release --locked --package longwire
	"$${CARGO_TARGET_DIR:-target}"/release/longwire lab run labs/bulk-result.toml

lab-pgbench:
	scripts/setup.sh lab
	cargo build --release --locked --package longwire
	"$${CARGO_TARGET_DIR:-target}"/release/longwire lab run labs/pgbench.toml

lab-estate:
	scripts/setup.sh lab-wordpress
	cargo build --release --locked --package longwire
	labs/estate/run.sh "$${CARGO_TARGET_DIR:-target}"/release/longwire

lab-compression:
	scripts/setup.sh lab-compression
	cargo build --release --locked --package longwire
	"$${CARGO_TARGET_DIR:-target}"/release/longwire lab run labs/compression.toml

bench-link:
	scripts/setup.sh bench
	bench/link.sh

bench-echo:
	scripts/setup.sh bench
	bench/echo.sh

bench-tunnel:
	scripts/setup.sh bench
	bench/tunnel.sh

bench-tune:
	scripts/setup.sh bench
	bench/tune.sh
	bench/tune-exhaustive.sh

bench-predictions:
	scripts/setup.sh stacks
	bench/predictions.sh

bench-frameworks:
	scripts/setup.sh stacks
	bench/frameworks.sh

toxiproxy-clients:
	scripts/toxiproxy-clients.sh
