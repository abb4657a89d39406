//! Claims of findings match the effect of their remedies: real programs with and without a waste,
//! over an emulated link.
//!
//! The claim comes from a run next to the database; the measurement is made at a distance.

use crate::findings::stage::{ITEMS, MYSQL_URL, PGJDBC_URL, Stage};
use crate::findings::{done, longwire, number, of_type, records};
use serde_json::Value;
use std::fmt::Write;
use std::path::Path;

struct Remedy {
    kind: &'static str,
    change: &'static str,
    target: String,
    wasteful: Vec<String>,
    remedied: Vec<String>,
    /// Command that alternates both, [`TIMES`] runs each, and prints lines `wasteful NANOSECONDS`
    /// and `remedied NANOSECONDS`.
    both: Vec<String>,
}

struct Claim {
    nanoseconds: u64,
    turns: u64,
}

struct Trial<'a> {
    remedy: &'a Remedy,
    claim: Claim,
    wasteful: u64,
    remedied: u64,
}

impl Trial<'_> {
    fn measured(&self) -> u64 {
        self.wasteful.saturating_sub(self.remedied)
    }

    fn is_good(&self) -> bool {
        (0.9..=1.1).contains(&self.ratio())
    }

    fn ratio(&self) -> f64 {
        self.claim.nanoseconds as f64 / self.measured() as f64
    }
}

#[test]
fn a_claimed_saving_is_what_the_remedy_gives() {
    let stage = Stage::set();
    let folder = tempfile::tempdir().expect("a directory");
    let remedies = [
        unrewritten_batch(&stage),
        small_fetch(&stage),
        reconnect(&stage),
        n_plus_one(&stage, folder.path()),
        row_by_row(&stage, folder.path()),
        control_turns(&stage, folder.path()),
        repeated_read(&stage, folder.path()),
        sequential(&stage, folder.path()),
    ];
    // Findings depend on program pauses, so runs next to the database are sequential. At a
    // distance, programs mostly sleep.
    let claims = remedies.each_ref().map(claim);
    let trials: Vec<Trial> = std::thread::scope(|scope| {
        let running: Vec<_> = remedies
            .iter()
            .zip(claims)
            .map(|(remedy, claim)| scope.spawn(move || measure(remedy, claim)))
            .collect();
        running
            .into_iter()
            .map(|trial| trial.join().expect("it ran"))
            .collect()
    });
    let mut table = format!(
        "{:18} {:>6} {:>9} {:>9} {:>6}\n",
        "at 100 ms", "turns", "claimed", "measured", "ratio"
    );
    for trial in &trials {
        let [claimed, measured] = [trial.claim.nanoseconds, trial.measured()].map(|time| time as f64 / 1e6);
        let (kind, turns) = (trial.remedy.kind, trial.claim.turns);
        writeln!(
            table,
            "{kind:18} {turns:6} {claimed:6.0} ms {measured:6.0} ms {:6.3}  {}",
            trial.ratio(),
            trial.remedy.change
        )
        .expect("a string takes all");
    }
    println!("{table}");
    assert!(trials.iter().all(Trial::is_good), "{table}");
}

/// Claimed time and round trips of the wasteful program; the remedied one must have no finding.
fn claim(remedy: &Remedy) -> Claim {
    let findings = findings_of(remedy, &remedy.wasteful);
    assert!(!findings.is_empty(), "no {} in the wasteful program", remedy.kind);
    let left = findings_of(remedy, &remedy.remedied);
    assert!(left.is_empty(), "with the remedy: {left:#?}");
    let sum = |key: &str| findings.iter().map(|finding| number(finding, key)).sum();
    Claim {
        nanoseconds: sum("saves_ns"),
        turns: sum("saves_turns"),
    }
}

/// Measures the effect over a link, up to [`ATTEMPTS`] times until it matches, because the machine
/// may be busy.
fn measure(remedy: &Remedy, claim: Claim) -> Trial<'_> {
    let mut trial = Trial {
        remedy,
        claim,
        wasteful: u64::MAX,
        remedied: u64::MAX,
    };
    for _ in 0..ATTEMPTS {
        let mut far = longwire(&["relay", "--link", &format!("rtt={RTT}"), &remedy.target, "--"]);
        let printed = String::from_utf8(done(far.args(&remedy.both)).stdout).expect("text");
        trial.wasteful = trial.wasteful.min(least(&printed, "wasteful"));
        trial.remedied = trial.remedied.min(least(&printed, "remedied"));
        if trial.is_good() {
            break;
        }
    }
    trial
}

fn findings_of(remedy: &Remedy, program: &[String]) -> Vec<Value> {
    let folder = tempfile::tempdir().expect("a directory");
    let recording = folder.path().join("near.lwr").display().to_string();
    let mut near = longwire(&["watch", "--quiet", "-o", &recording, &remedy.target, "--"]);
    done(near.args(program));
    let read = records(&done(&mut longwire(&[
        "read", "--json", "--rtt", RTT, &recording,
    ])));
    let mut findings = of_type(&read, "finding");
    findings.retain(|finding| finding["kind"] == remedy.kind);
    findings
}

/// Returns the minimum, because load only adds time.
fn least(printed: &str, label: &str) -> u64 {
    let times = printed
        .lines()
        .filter_map(|line| line.strip_prefix(label)?.strip_prefix(' '));
    let times: Vec<u64> = times.map(|time| time.parse().expect("nanoseconds")).collect();
    assert_eq!(times.len(), TIMES, "{printed}");
    times.into_iter().min().unwrap_or_default()
}

fn unrewritten_batch(stage: &Stage) -> Remedy {
    let rewritten = format!("{MYSQL_URL}&rewriteBatchedStatements=true");
    Remedy {
        kind: "unrewritten-batch",
        change: "Connector/J: rewriteBatchedStatements=true",
        target: stage.mariadb.url(),
        ..by_jdbc(stage, ["batch", "15", MYSQL_URL], ["batch", "15", &rewritten])
    }
}

fn small_fetch(stage: &Stage) -> Remedy {
    let [few, many] = [60, 5000].map(|rows| format!("{PGJDBC_URL}&defaultRowFetchSize={rows}"));
    let count = ITEMS.to_string();
    Remedy {
        kind: "small-fetch",
        change: "pgjdbc: defaultRowFetchSize=5000 instead of 60",
        ..by_jdbc(stage, ["all-rows", &count, &few], ["all-rows", &count, &many])
    }
}

fn reconnect(stage: &Stage) -> Remedy {
    Remedy {
        kind: "reconnect",
        change: "pgjdbc: one connection kept",
        ..by_jdbc(
            stage,
            ["connect-each", "8", PGJDBC_URL],
            ["connect-once", "8", PGJDBC_URL],
        )
    }
}

fn n_plus_one(stage: &Stage, folder: &Path) -> Remedy {
    let ids: Vec<String> = (1..=15).map(|id| (id * 7).to_string()).collect();
    let each = ids
        .iter()
        .map(|id| format!("select name from items where id = {id};\n"));
    let before = "select id from items where id % 7 = 0 order by id limit 15;\n".to_owned()
        + &each.collect::<String>();
    let after = "select id from items where id % 7 = 0 order by id limit 15;\n".to_owned()
        + &format!("select id, name from items where id in ({});\n", ids.join(", "));
    Remedy {
        kind: "n+1",
        change: "psql: one IN instead of a loop",
        ..by_psql(stage, folder, "n_plus_one", &before, &after)
    }
}

fn row_by_row(stage: &Stage, folder: &Path) -> Remedy {
    let rows: Vec<String> = (1..=15).map(|id| format!("({id}, 'arrival {id}')")).collect();
    let each = rows
        .iter()
        .map(|row| format!("insert into arrivals values {row};\n"));
    let before = format!("begin;\n{}commit;\n", each.collect::<String>());
    let after = format!(
        "begin;\ninsert into arrivals values {};\ncommit;\n",
        rows.join(", ")
    );
    Remedy {
        kind: "row-by-row",
        change: "mariadb: one insert of 15 rows",
        target: stage.mariadb.url(),
        ..by_scripts(MARIADB, folder, "row_by_row", &before, &after)
    }
}

fn control_turns(stage: &Stage, folder: &Path) -> Remedy {
    let mut before = String::new();
    let mut after = String::new();
    for id in 1..=7 {
        let update = format!("update items set name = 'item {id}' where id = {}", 500 + id);
        writeln!(before, "begin;\n{update};\ncommit;").expect("a string takes all");
        writeln!(after, "begin\\;{update}\\;commit;").expect("a string takes all");
    }
    Remedy {
        kind: "control-round-trips",
        change: "psql: BEGIN and COMMIT sent with the statement",
        ..by_psql(stage, folder, "control_turns", &before, &after)
    }
}

fn repeated_read(stage: &Stage, folder: &Path) -> Remedy {
    let read = "select count(*) from items;\n";
    let program = |reads: usize| format!("begin;\n{}commit;\n", read.repeat(reads));
    Remedy {
        kind: "repeated-read",
        change: "psql: asked once",
        ..by_psql(stage, folder, "repeated_read", &program(15), &program(1))
    }
}

fn sequential(stage: &Stage, folder: &Path) -> Remedy {
    let queries: String = (1..=15)
        .map(|part| format!("select max(name) as part_{part} from items;\n"))
        .collect();
    let program = |name: &str, script: &str| {
        let file = folder.join(name);
        std::fs::write(&file, format!("begin;\n{script}commit;\n")).expect("it can be written");
        format!("pgbench -n -M extended -t 1 -f '{}'", file.display())
    };
    let before = program("sequential.pgbench", &queries);
    let after = program(
        "pipelined.pgbench",
        &format!("\\startpipeline\n{queries}\\endpipeline\n"),
    );
    Remedy {
        kind: "sequential",
        change: "pgbench: \\startpipeline",
        target: stage.postgres.url(),
        ..by_shell(&before, &after)
    }
}

/// The arguments of JdbcPrograms.java are program, count and URL.
fn by_jdbc(stage: &Stage, before: [&str; 3], after: [&str; 3]) -> Remedy {
    let wasteful = ["wasteful", before[0], before[1], before[2]];
    let remedied = ["remedied", after[0], after[1], after[2]];
    let pairs: Vec<_> = (0..TIMES).flat_map(|_| [wasteful, remedied]).collect();
    Remedy {
        kind: "",
        change: "",
        target: stage.postgres.url(),
        wasteful: stage.jdbc(&[wasteful]),
        remedied: stage.jdbc(&[remedied]),
        both: stage.jdbc(&pairs),
    }
}

fn by_psql(stage: &Stage, folder: &Path, name: &str, before: &str, after: &str) -> Remedy {
    Remedy {
        target: stage.postgres.url(),
        ..by_scripts("psql -X -q -v ON_ERROR_STOP=1", folder, name, before, after)
    }
}

fn by_scripts(client: &str, folder: &Path, name: &str, before: &str, after: &str) -> Remedy {
    let program = |which: &str, script: &str| {
        let file = folder.join(format!("{name}.{which}.sql"));
        std::fs::write(&file, script).expect("it can be written");
        format!("{client} < '{}'", file.display())
    };
    by_shell(&program("before", before), &program("after", after))
}

fn by_shell(before: &str, after: &str) -> Remedy {
    let run = |script: String| vec!["sh".to_owned(), "-ec".to_owned(), script];
    let timed = |label: &str, command: &str| {
        format!("began=$(date +%s%N); {command} > /dev/null; echo {label} $(($(date +%s%N) - began))\n")
    };
    let pair = timed("wasteful", before) + &timed("remedied", after);
    Remedy {
        kind: "",
        change: "",
        target: String::new(),
        wasteful: run(format!("{before} > /dev/null")),
        remedied: run(format!("{after} > /dev/null")),
        both: run(pair.repeat(TIMES)),
    }
}

const ATTEMPTS: usize = 4;

/// The first run of a Java program is always slow.
const TIMES: usize = 3;

/// Large compared with other costs of a round trip on a busy machine.
const RTT: &str = "100ms";

const MARIADB: &str =
    "mariadb --no-defaults --protocol=tcp --host=$MYSQL_HOST --port=$MYSQL_TCP_PORT --user=longwire test";
