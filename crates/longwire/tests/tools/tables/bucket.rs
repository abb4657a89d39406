//! Tables in an object store.

use super::{RUNS, comparable, data, files, text};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};
use testbed::ObjectStore;

const URL: &str = "s3://estate/of/shop";

fn longwire(store: &ObjectStore, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_longwire"));
    command.args(arguments).envs(store.variables());
    command.output().expect("it runs")
}

fn records(store: &ObjectStore, arguments: &[&str]) -> Vec<Value> {
    let output = longwire(store, arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {said}");
    let text = String::from_utf8(output.stdout).expect("text");
    let lines = text.lines().map(serde_json::from_str);
    lines.collect::<Result<_, _>>().expect("records")
}

fn objects(store: &ObjectStore) -> Vec<String> {
    let root = store.files("estate");
    let names = files(&root).into_iter().map(|path| {
        let name = path.strip_prefix(&root).expect("below it");
        text(name).to_owned()
    });
    names.collect()
}

#[test]
fn a_bucket_gives_the_answers_of_what_it_was_written_from() {
    let store = ObjectStore::start("estate");
    let run = data(RUNS[0]);
    let host = ["--parquet-host", "web/1"];
    let write = ["read", "--json", "--parquet", URL, host[0], host[1], text(&run)];
    let original = comparable(records(&store, &write));
    let written = objects(&store);
    assert!(
        written
            .iter()
            .all(|name| name.starts_with("of/shop/") && name.ends_with(".parquet")),
        "{written:?}"
    );
    assert_eq!(comparable(records(&store, &["read", "--json", URL])), original);
    for command in [
        ["predict", "--json", "--rtt", "40ms"],
        ["check", "--json", "--max-round-trips", "1000000"],
    ] {
        let asked = |from: &str| comparable(records(&store, &[&command[..], &[from]].concat()));
        assert_eq!(asked(URL), asked(text(&run)), "{command:?}");
    }

    // Read directly from the store.
    let key = |name: &str| {
        let mut all = store.variables().into_iter();
        all.find(|(known, _)| *known == name).expect("it is set").1
    };
    let query = format!(
        "import chdb; print(chdb.query(\"select sum(turns), count() from s3('{}/estate/of/shop/exchanges/**/*.parquet', '{}', '{}', 'Parquet')\", 'CSV'))",
        key("AWS_ENDPOINT_URL"),
        key("AWS_ACCESS_KEY_ID"),
        key("AWS_SECRET_ACCESS_KEY")
    );
    let programs = testbed::python::environment(&["duckdb==2.0.0", "chdb==4.4.0"]);
    let mut python = Command::new(programs.join("python"));
    python.args(["-c", &query]);
    let summary = super::summary(&original);
    let expected = format!("{},{}", summary["turns"], summary["exchanges"]);
    assert_eq!(testbed::process::run(python).trim(), expected);

    // A file of an earlier, longer run is replaced.
    let exchanges = written.iter().find(|name| name.contains("/exchanges/"));
    let exchanges = store
        .files("estate")
        .join(exchanges.expect("a file of exchanges"));
    let left = text(&exchanges).replace("-0000.parquet", "-0001.parquet");
    std::fs::copy(&exchanges, left).expect("a copy");
    records(&store, &write);
    assert_eq!(objects(&store), written);
}

#[test]
fn what_an_object_store_refuses_is_said() {
    let store = ObjectStore::start("estate");
    let run = data(RUNS[1]);
    let refused = |url: &str, secret: Option<&str>, endpoint: Option<String>| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_longwire"));
        command
            .args(["read", "--parquet", url])
            .arg(&run)
            .envs(store.variables());
        command.envs(secret.map(|secret| ("AWS_SECRET_ACCESS_KEY", secret)));
        command.envs(endpoint.map(|endpoint| ("AWS_ENDPOINT_URL", endpoint)));
        let output = command.output().expect("it runs");
        assert!(!output.status.success(), "{url}");
        String::from_utf8(output.stderr).expect("text")
    };
    let said = refused("s3://nobody/of", None, None);
    assert!(
        said.contains("s3://nobody/of") && said.contains("NoSuchBucket"),
        "{said}"
    );
    let said = refused(URL, Some("0123456789"), None);
    assert!(
        said.contains("SignatureDoesNotMatch") && !said.contains("0123456789") && !said.contains("X-Amz"),
        "{said}"
    );
    let said = refused("s3://", None, None);
    assert!(said.contains("expected s3://BUCKET/PREFIX"), "{said}");
    let closed = testbed::process::free_port();
    let said = refused(URL, None, Some(format!("http://127.0.0.1:{closed}")));
    assert!(
        said.contains("s3://estate/of/shop") && said.contains("refused"),
        "{said}"
    );
    let said = refused(URL, None, Some("127.0.0.1".to_owned()));
    assert!(
        said.contains("the endpoint of AWS_ENDPOINT_URL is no URL"),
        "{said}"
    );
    let empty = longwire(&store, &["read", URL]);
    let said = String::from_utf8_lossy(&empty.stderr).into_owned();
    assert!(
        !empty.status.success() && said.contains("there are no tables"),
        "{said}"
    );
    assert_eq!(
        files(Path::new(&store.files("estate"))),
        Vec::<std::path::PathBuf>::new()
    );
}
