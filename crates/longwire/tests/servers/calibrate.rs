//! `longwire calibrate` with a real server.

use std::fs;
use testbed::Postgres;
use testbed::binary::{self, done, longwire, number, of_type, run, shown, stderr, stdout, unwrapped};
use testbed::waiting::wait_until;

/// Statements of psql, one by one.
const SCRIPT: &str =
    "for i in $(seq 200); do echo 'select count(*) from items;'; echo 'select 1;'; done | psql -X -q";

fn with_items() -> Postgres {
    let server = Postgres::start();
    server.sql("CREATE TABLE items AS SELECT i FROM generate_series(1, 500) i");
    server
}

#[test]
fn a_command_is_calibrated_and_its_file_is_used_by_predict() {
    let server = with_items();
    let folder = tempfile::tempdir().expect("a directory");
    let calibrate = |arguments: &[&str]| {
        let mut command = longwire(&["calibrate"]);
        let output = command.args(arguments).current_dir(folder.path()).output();
        output.expect("the binary starts")
    };
    let url = server.url();
    let sessions =
        || server.sql("select count(*) from pg_stat_activity where backend_type = 'client backend'");
    let before = sessions();
    let output = calibrate(&[&url, "-T", "10s", "--json", "--", "sh", "-c", SCRIPT]);
    let records = binary::records(&output);
    let rests = of_type(&records, "calibrated");
    assert_eq!(rests.len(), 6, "{}", shown(&output));
    for rest in &rests {
        assert!(number(rest, "samples") > 30, "{rest}");
        assert!(rest["factor"].is_f64() != rest["refused"].is_string(), "{rest}");
    }
    let file = folder.path().join("longwire-calibration.json");
    // Everything may be refused on a busy machine.
    if output.status.code() == Some(1) {
        assert!(
            !file.exists() && stderr(&output).contains("nothing usable"),
            "{}",
            shown(&output)
        );
        return;
    }
    done(&output);
    let text = fs::read_to_string(&file).expect("the file");
    assert!(text.contains("\"calibration\": 1"), "{text}");
    let watched = folder.path().join("run.lwr").display().to_string();
    done(&run(&[
        "watch", &url, "-o", &watched, "--", "psql", "-X", "-c", "select 1",
    ]));
    let path = file.display().to_string();
    let output = run(&[
        "watch",
        &url,
        "--calibration",
        &path,
        "--json",
        "--",
        "psql",
        "-X",
        "-c",
        "select 1",
    ]);
    let records = binary::records(&output);
    let conditions = &of_type(&records, "conditions")[0]["calibration"];
    assert_eq!(*conditions, *path);
    let output = run(&["predict", &watched, "10ms", "--explain"]);
    done(&output);
    assert!(
        stderr(&output).contains("longwire-calibration.json"),
        "{}",
        stderr(&output)
    );
    assert!(
        unwrapped(&stdout(&output)).contains("longwire calibrate"),
        "{}",
        stdout(&output)
    );
    wait_until("its sessions end", || sessions() == before);
}

#[test]
fn own_statements_leave_nothing_and_a_failing_command_is_an_error() {
    let server = with_items();
    let folder = tempfile::tempdir().expect("a directory");
    let file = folder.path().join("calibration.json").display().to_string();
    let url = server.url();
    let tables = || server.sql("select count(*) from pg_class");
    let before = tables();
    let output = run(&["calibrate", &url, "-T", "5s", "-o", &file]);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", shown(&output));
    assert!(stdout(&output).lines().count() <= 24, "{}", stdout(&output));
    assert_eq!(tables(), before);
    let output = run(&["calibrate", &url, "-o", &file, "--", "sh", "-c", "exit 3"]);
    assert_eq!(output.status.code(), Some(2), "{}", shown(&output));
    assert!(stderr(&output).contains("exit status: 3"), "{}", stderr(&output));
    let output = run(&["calibrate", &url, "--", "no-such-program"]);
    assert_eq!(output.status.code(), Some(127), "{}", shown(&output));
}
