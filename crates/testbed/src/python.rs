//! Python for tests: an environment of its own with packages that pip fetched, from wherever this machine's pip is told to look.
//! Kept next to the programs of this build, so that later tests do without pip.

use std::fs::File;
use std::path::PathBuf;
use std::process::Command;

use crate::process::{require, run};

/// The directory of the programs of an environment that has `packages`, each `name==version`.
///
/// # Panics
/// When Python or its `venv` is missing, or pip cannot find a package: with its message.
pub fn environment(packages: &[&str]) -> PathBuf {
    let directory = directory();
    let name: String = packages.join("+").replace("==", "-").replace(['[', ']'], "_");
    let whole = directory.join(name);
    // Other tests of this process and other processes may want the same at this moment.
    let lock = File::create(directory.join("lock")).and_then(|file| file.lock().map(|()| file));
    let _lock = lock.unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    let marker = whole.join("whole");
    if !marker.exists() {
        let mut python = Command::new(require("python3"));
        python.args(["-m", "venv", "--clear"]).arg(&whole);
        run(python);
        let mut pip = Command::new(whole.join("bin/pip"));
        pip.args(["install", "--quiet", "--disable-pip-version-check"])
            .args(packages);
        run(pip);
        File::create(&marker).unwrap_or_else(|error| panic!("{}: {error}", marker.display()));
    }
    whole.join("bin")
}

fn directory() -> PathBuf {
    let program = std::env::current_exe().unwrap_or_else(|error| panic!("this program's own path: {error}"));
    // target/debug/deps/test-1234567890abcdef
    let build = program.ancestors().nth(2);
    let build = build.unwrap_or_else(|| panic!("{}: not under a target directory", program.display()));
    let directory = build.join("python");
    std::fs::create_dir_all(&directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    directory
}
