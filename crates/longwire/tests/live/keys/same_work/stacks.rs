//! Programs outside of the default tests: Ruby with `pg` and `mysql2` (`scripts/setup.sh stacks`),
//! and Node.js with the same from npm.

use super::{BOTH, script, with_both, word};
use std::path::PathBuf;
use std::process::Command;
use testbed::require;

#[test]
fn ruby_does_the_same_work() {
    with_both("Ruby 3.1: pg, mysql2", &[], &BOTH, |kind, port, authority| {
        let ruby = Command::new(require("ruby"));
        script(ruby, "same_work.rb", (kind, port, authority.map(word)))
    });
}

/// `LONGWIRE_NODE_MODULES` is the directory with `pg` and `mysql2`.
#[test]
fn node_does_the_same_work() {
    let modules = std::env::var_os("LONGWIRE_NODE_MODULES").expect("the directory of pg and mysql2");
    let modules = PathBuf::from(modules);
    with_both("Node.js 20: pg, mysql2", &[], &BOTH, |kind, port, authority| {
        let mut node = Command::new(require("node"));
        node.env("NODE_PATH", &modules);
        script(node, "same_work.js", (kind, port, authority.map(|_| "on")))
    });
}
