//! Sources of passwords, the prompt, and that passwords stay hidden.

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use testbed::{Postgres, PostgresAuth, require};

/// The target lacks the required password.
fn arguments(server: &Postgres) -> [String; 5] {
    let target = format!("postgres://postgres@127.0.0.1:{}/postgres", server.port());
    ["ping", &target, "-n", "2", "-i=50ms"].map(str::to_owned)
}

fn bare(program: &std::path::Path, home: &std::path::Path) -> Command {
    let mut command = Command::new(program);
    command.env("HOME", home).stdin(Stdio::null());
    for name in ["PGPASSWORD", "PGPASSFILE", "PGUSER"] {
        command.env_remove(name);
    }
    command
}

#[test]
fn a_password_is_found_or_asked_for() {
    let server = Postgres::options().auth(PostgresAuth::ScramSha256).start();
    let home = tempfile::tempdir().expect("a directory");
    let longwire = testbed::binary::program();
    // A new session, to exclude the terminal of this test.
    let run = |name: &str, value: &str| {
        let mut command = bare(&require("setsid"), home.path());
        command.arg("--wait").arg(&longwire).args(arguments(&server));
        command.env(name, value).output().expect("it starts")
    };
    let asked = run("NOTHING", "");
    let said = String::from_utf8_lossy(&asked.stderr).into_owned() + &String::from_utf8_lossy(&asked.stdout);
    assert!(!asked.status.success(), "{said}");
    assert!(
        said.contains("asks for a password") && said.contains("PGPASSWORD"),
        "{said}"
    );

    assert!(run("PGPASSWORD", Postgres::PASSWORD).status.success());

    let file = home.path().join("pass");
    std::fs::write(&file, format!("127.0.0.1:*:*:postgres:{}\n", Postgres::PASSWORD)).expect("written");
    let path = file.to_str().expect("a path");
    let rights = |mode| std::fs::set_permissions(&file, PermissionsExt::from_mode(mode)).expect("allowed");
    rights(0o644);
    let open = run("PGPASSFILE", path);
    let said = String::from_utf8_lossy(&open.stderr).into_owned() + &String::from_utf8_lossy(&open.stdout);
    assert!(
        said.contains("others may read it") && said.contains("chmod 600"),
        "{said}"
    );
    rights(0o600);
    assert!(run("PGPASSFILE", path).status.success());
}

#[test]
fn a_person_is_asked_and_what_is_typed_is_not_shown() {
    let server = Postgres::options().auth(PostgresAuth::ScramSha256).start();
    let home = tempfile::tempdir().expect("a directory");
    let longwire = testbed::binary::program();
    let words = arguments(&server).map(|word| format!("'{word}'")).join(" ");
    let mut script = bare(&require("script"), home.path())
        .args(["--quiet", "--return", "--echo", "never", "--command"])
        .arg(format!("{} {words}", longwire.display()))
        .arg("/dev/null")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("script starts");
    let mut shown = String::new();
    let mut output = script.stdout.take().expect("piped");
    while !shown.contains("Password of postgres at 127.0.0.1") || !shown.ends_with(": ") {
        let mut byte = [0];
        assert_eq!(
            output.read(&mut byte).expect("readable"),
            1,
            "it ended after: {shown}"
        );
        shown.push(char::from(byte[0]));
    }
    let typed = format!("wrong\x7f\x7f\x7f\x7f\x7f{}\n", Postgres::PASSWORD);
    script
        .stdin
        .take()
        .expect("piped")
        .write_all(typed.as_bytes())
        .expect("typed");
    output.read_to_string(&mut shown).expect("text");
    assert!(script.wait().expect("it ends").success(), "{shown}");
    assert!(
        !shown.contains(Postgres::PASSWORD) && !shown.contains("wrong"),
        "{shown}"
    );
}
