//! Compiles `preload/openssl.rs` into a shared library for the target, embedded in the crate.
//!
//! Without glibc's `LD_PRELOAD`, an empty file replaces it.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

const SOURCE: &str = "preload/openssl.rs";

fn main() {
    println!("cargo::rerun-if-changed={SOURCE}");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(key_log_preload)");
    let library = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join("preload.so");
    if is_supported() {
        compile(&library);
    } else {
        std::fs::write(&library, b"").expect("OUT_DIR can be written");
    }
}

fn is_supported() -> bool {
    let target = |what: &str| env::var(format!("CARGO_CFG_TARGET_{what}")).unwrap_or_default();
    let is_static = target("FEATURE")
        .split(',')
        .any(|feature| feature == "crt-static");
    let is_known = ["x86_64", "aarch64"].contains(&&*target("ARCH"));
    target("OS") == "linux" && target("ENV") == "gnu" && is_known && !is_static
}

fn compile(library: &Path) {
    let mut rustc = Command::new(env::var_os("RUSTC").expect("cargo sets RUSTC"));
    rustc.args([
        "--edition",
        "2024",
        "--crate-name",
        "key_log_preload",
        "--crate-type",
        "cdylib",
    ]);
    rustc.args([
        "-O",
        "-C",
        "panic=abort",
        "-C",
        "lto=fat",
        "-C",
        "codegen-units=1",
        "-C",
        "strip=symbols",
    ]);
    rustc.args(["--cfg", "key_log_preload"]);
    rustc.args(["-D", "warnings", "-D", "unsafe_op_in_unsafe_fn"]);
    rustc
        .arg("--target")
        .arg(env::var_os("TARGET").expect("cargo sets TARGET"));
    if let Some(linker) = env::var_os("RUSTC_LINKER") {
        let mut option = std::ffi::OsString::from("linker=");
        option.push(linker);
        rustc.arg("-C").arg(option);
    }
    rustc.arg("-o").arg(library).arg(SOURCE);
    let status = rustc.status().expect("rustc can be started");
    assert!(status.success(), "{SOURCE} was not compiled: {status}");
}
