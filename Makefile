# make demo   builds longwire and shows its whole story; needs a C compiler and Rust
# make jdbc   builds longwire-jdbc.jar, which JDBC drivers are reached through (ping, load, tune with --driver)
# make test   all checks: formatting, lints, every test (real servers included), licences and advisories
#
# make lab-wordpress, lab-bulk, lab-pgbench, lab-compression   the labs of labs/, measured beside predicted; as root, or (but for
#                       lab-compression) where the system allows unprivileged user namespaces
#
# All install what is missing (Debian, Ubuntu) and may be run again and again.

export PATH := $(PATH):$(HOME)/.cargo/bin

.PHONY: demo jdbc test bench-read lab-wordpress lab-bulk lab-pgbench lab-compression bench-link bench-echo bench-tunnel bench-tune bench-predictions

demo:
	scripts/setup.sh demo
	cargo build --release --locked --package longwire
	@echo
	@"$${CARGO_TARGET_DIR:-target}"/release/longwire demo --html "$${CARGO_TARGET_DIR:-target}"/longwire-demo.html

jdbc:
	scripts/setup.sh jdbc
	mvn --quiet --batch-mode --file bridges/jdbc/pom.xml package
	for kind in debug release; do \
	    mkdir -p "$${CARGO_TARGET_DIR:-target}/$$kind" && cp bridges/jdbc/target/longwire-jdbc.jar "$${CARGO_TARGET_DIR:-target}/$$kind/" || exit 1; \
	done

test:
	scripts/setup.sh test
	mvn --quiet --batch-mode --file bridges/jdbc/pom.xml package
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	. scripts/capture-right.sh && cargo test --workspace --locked --no-fail-fast
	cargo test --package client --package probe --features oracle --lib --test oracle --locked
	scripts/check-dependencies.sh

bench-read:
	scripts/setup.sh bench
	bench/read.sh

lab-wordpress:
	scripts/setup.sh lab-wordpress
	cargo build --release --locked --package longwire
	"$${CARGO_TARGET_DIR:-target}"/release/longwire lab run labs/wordpress.toml

lab-bulk:
	scripts/setup.sh lab
	cargo build --release --locked --package longwire
	"$${CARGO_TARGET_DIR:-target}"/release/longwire lab run labs/bulk-result.toml

lab-pgbench:
	scripts/setup.sh lab
	cargo build --release --locked --package longwire
	"$${CARGO_TARGET_DIR:-target}"/release/longwire lab run labs/pgbench.toml

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
