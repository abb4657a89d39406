# make demo   builds longwire and shows its whole story; needs a C compiler and Rust
# make test   all checks: formatting, lints, every test (real servers included), licences and advisories
#
# Both install what is missing (Debian, Ubuntu) and may be run again and again.

export PATH := $(PATH):$(HOME)/.cargo/bin

.PHONY: demo test bench-read

demo:
	scripts/setup.sh demo
	cargo build --release --locked --package longwire
	@echo
	@"$${CARGO_TARGET_DIR:-target}"/release/longwire demo --html "$${CARGO_TARGET_DIR:-target}"/longwire-demo.html

test:
	scripts/setup.sh test
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	. scripts/capture-right.sh && cargo test --workspace --locked --no-fail-fast
	scripts/check-dependencies.sh

bench-read:
	scripts/setup.sh bench
	bench/read.sh
