//! Commit, target and features for `longwire --version`.

use std::env;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=LONGWIRE_COMMIT");
    let commit = env::var("LONGWIRE_COMMIT").ok().or_else(commit);
    let commit = commit.unwrap_or_else(|| "commit unknown".to_owned());
    let target = env::var("TARGET").expect("cargo sets TARGET");
    let features: Vec<_> = ["demo", "oracle"]
        .into_iter()
        .filter(|name| env::var_os(format!("CARGO_FEATURE_{}", name.to_uppercase())).is_some())
        .collect();
    let features = match features.is_empty() {
        true => "none".to_owned(),
        false => features.join(", "),
    };
    println!("cargo::rustc-env=LONGWIRE_COMMIT_SHOWN={commit}");
    println!("cargo::rustc-env=LONGWIRE_TARGET={target}");
    println!("cargo::rustc-env=LONGWIRE_FEATURES={features}");
}

/// `None` outside a repository.
fn commit() -> Option<String> {
    // `HEAD` changes on checkout, its log on commit.
    for file in ["HEAD", "logs/HEAD"] {
        println!(
            "cargo::rerun-if-changed={}",
            git(&["rev-parse", "--git-path", file])?
        );
    }
    git(&["log", "-1", "--format=commit %h of %cs"])
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
