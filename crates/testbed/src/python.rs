//! Python environments with packages from pip, kept in [`cache::folder`] for later tests.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::Command;

use crate::cache;
use crate::process::{require, run};

/// The program directory of an environment with `packages`, each `name==version`.
pub fn environment(packages: &[&str]) -> PathBuf {
    let directory = cache::folder("python");
    let name: String = packages.join("+").replace("==", "-").replace(['[', ']'], "_");
    let whole = directory.join(&name);
    // Other tests and processes may create the same at this time.
    let lock =
        File::create(directory.join(format!("{name}.lock"))).and_then(|file| file.lock().map(|()| file));
    let _lock = lock.unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    let mut python = Command::new(require("python3"));
    let version = run_quietly(python.arg("-VV"));
    let marker = whole.join("whole");
    // An environment is useless without the interpreter it was made for.
    let interpreter = run_quietly(Command::new(whole.join("bin/python3")).arg("-VV"));
    if interpreter != version || fs::read_to_string(&marker).ok() != version {
        let mut python = Command::new(require("python3"));
        python.args(["-m", "venv", "--clear"]).arg(&whole);
        run(python);
        let mut pip = Command::new(whole.join("bin/pip"));
        pip.args(["install", "--quiet", "--disable-pip-version-check"])
            .args(packages);
        run(pip);
        let written = fs::write(&marker, version.unwrap_or_default());
        written.unwrap_or_else(|error| panic!("{}: {error}", marker.display()));
    }
    whole.join("bin")
}

/// Returns the output, `None` on failure.
fn run_quietly(command: &mut Command) -> Option<String> {
    let output = command.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}
