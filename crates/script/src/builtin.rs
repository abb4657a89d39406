//! The scripts that need no file: those of pgbench, by its names.

/// A script and its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Builtin {
    /// Its name.
    pub name: &'static str,
    /// What it is called in reports.
    pub title: &'static str,
    /// Its text.
    pub text: &'static str,
}

/// All of them. They need the tables that `load::tables` makes.
pub const BUILTINS: [Builtin; 3] = [
    Builtin {
        name: "tpcb-like",
        title: "<builtin: TPC-B (sort of)>",
        text: "\\set aid random(1, 100000 * :scale)\n\
               \\set bid random(1, 1 * :scale)\n\
               \\set tid random(1, 10 * :scale)\n\
               \\set delta random(-5000, 5000)\n\
               BEGIN;\n\
               UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;\n\
               SELECT abalance FROM pgbench_accounts WHERE aid = :aid;\n\
               UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;\n\
               UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;\n\
               INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) \
               VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);\n\
               COMMIT;\n",
    },
    Builtin {
        name: "simple-update",
        title: "<builtin: simple update>",
        text: "\\set aid random(1, 100000 * :scale)\n\
               \\set bid random(1, 1 * :scale)\n\
               \\set tid random(1, 10 * :scale)\n\
               \\set delta random(-5000, 5000)\n\
               BEGIN;\n\
               UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;\n\
               SELECT abalance FROM pgbench_accounts WHERE aid = :aid;\n\
               INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) \
               VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);\n\
               COMMIT;\n",
    },
    Builtin {
        name: "select-only",
        title: "<builtin: select only>",
        text: "\\set aid random(1, 100000 * :scale)\n\
               SELECT abalance FROM pgbench_accounts WHERE aid = :aid;\n",
    },
];

impl Builtin {
    /// The one whose name begins with `name`; `None` if there is none, or more than one.
    pub fn named(name: &str) -> Option<Self> {
        let mut fitting = BUILTINS
            .into_iter()
            .filter(|builtin| !name.is_empty() && builtin.name.starts_with(name));
        fitting.next().filter(|_| fitting.next().is_none())
    }
}
