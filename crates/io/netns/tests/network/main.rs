//! Hosts and links with the kernel's TCP. Runs itself again inside namespaces, see
//! `netns::sandbox`.
//!
//! As with the usual harness, `--ignored` runs the tests of the group `timing` and no others.

#![allow(
    clippy::unwrap_used,
    reason = "a test that runs itself is not known as one to the lint"
)]

mod shapes;

use netns::{Entered, Sandbox};
use std::panic::{AssertUnwindSafe, catch_unwind};
use testbed::floor::Floor;

type Test = (&'static str, fn(&Sandbox));

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let has = |word: &str| words.iter().any(|other| other == word);
    let tests = if has("--ignored") {
        shapes::TIMING
    } else {
        shapes::TESTS
    };
    if has("--list") {
        tests.iter().for_each(|(name, _)| println!("{name}: test"));
        return;
    }
    let sandbox = match netns::sandbox::enter() {
        Ok(Entered::Inside(sandbox)) => sandbox,
        Ok(Entered::Finished(status)) => std::process::exit(i32::from(status)),
        Err(error) => {
            let hint = error.hint().unwrap_or_default();
            panic!("{error}; {hint}");
        }
    };
    let wanted: Vec<&String> = words.iter().filter(|word| !word.starts_with('-')).collect();
    let is_wanted = |name: &str| match has("--exact") {
        true => wanted.iter().any(|word| *word == name),
        false => wanted.is_empty() || wanted.iter().any(|word| name.contains(word.as_str())),
    };
    let mut failed = 0;
    for (name, test) in tests.iter().filter(|(name, _)| is_wanted(name)) {
        let passed = catch_unwind(AssertUnwindSafe(|| test(&sandbox))).is_ok();
        println!("test {name} ... {}", if passed { "ok" } else { "FAILED" });
        failed += i32::from(!passed);
        if !passed {
            eprintln!(
                "this machine's own floor, right after the failure: {}",
                Floor::measure()
            );
        }
    }
    std::process::exit(failed.min(1));
}
