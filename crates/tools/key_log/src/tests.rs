use super::*;
use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};

fn mode(path: &Path) -> u32 {
    path.metadata().expect("it is there").permissions().mode() & 0o777
}

fn append(path: &Path, text: &str) {
    let file = fs::OpenOptions::new().append(true).open(path);
    file.and_then(|mut file| file.write_all(text.as_bytes()))
        .expect("it can be written");
}

fn line(label: &str, session: u8) -> String {
    format!(
        "{label} {} {}\n",
        format!("{session:02x}").repeat(32),
        "ab".repeat(48)
    )
}

fn tls13(session: u8) -> String {
    [
        "SERVER_HANDSHAKE_TRAFFIC_SECRET",
        "CLIENT_HANDSHAKE_TRAFFIC_SECRET",
        "EXPORTER_SECRET",
        "SERVER_TRAFFIC_SECRET_0",
        "CLIENT_TRAFFIC_SECRET_0",
    ]
    .map(|label| line(label, session))
    .concat()
}

#[test]
fn sessions_are_counted_once_each_whatever_else_is_in_the_file() {
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path().join("keys.log");
    fs::write(&path, tls13(9)).expect("it can be written");
    fs::set_permissions(&path, Permissions::from_mode(0o600)).expect("its owner may");
    let keys = KeyCollection::into_file(&path).expect("it is this user's alone");
    assert_eq!(
        keys.sessions().expect("it can be read"),
        0,
        "those of before do not count"
    );
    append(&path, &[tls13(1), line("CLIENT_RANDOM", 2), tls13(1)].concat());
    append(&path, &line("CLIENT_RANDOM", 0xab).to_ascii_uppercase());
    append(&path, &line("CLIENT_RANDOM", 0xab));
    append(
        &path,
        "# 2026-11-22 Peer: db1:5432\n\nCLIENT_RANDOM\nCLIENT_RANDOMS 00 00\n",
    );
    append(&path, &format!("{}\n", "x".repeat(100_000)));
    append(&path, line("CLIENT_RANDOM", 3).trim_end());
    assert_eq!(keys.sessions().expect("it can be read"), 4);
}

#[test]
fn the_file_is_its_owners_alone_and_one_without_keys_does_not_stay() {
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path().join("keys.log");
    drop(KeyCollection::into_file(&path).expect("it is made"));
    assert!(!path.exists(), "nothing was written");
    let keys = KeyCollection::into_file(&path).expect("it is made");
    assert_eq!(mode(&path), 0o600);
    append(&path, &line("CLIENT_RANDOM", 1));
    drop(keys);
    let again = KeyCollection::into_file(&path).expect("it is appended to");
    drop(again);
    assert_eq!(
        fs::read_to_string(&path).expect("it stays"),
        line("CLIENT_RANDOM", 1)
    );
}

#[test]
fn a_file_that_others_may_read_is_refused_and_left_as_it_is() {
    let folder = tempfile::tempdir().expect("a directory");
    let path = |name: &str| folder.path().join(name);
    let refused = |name: &str| KeyCollection::into_file(&path(name)).expect_err(name);
    fs::write(path("shared"), "").expect("it can be written");
    for rights in [0o644, 0o620, 0o601] {
        fs::set_permissions(path("shared"), Permissions::from_mode(rights)).expect("its owner may");
        let error = refused("shared");
        assert!(
            matches!(error, Error::OpenToOthers { mode, .. } if mode == rights),
            "{error}"
        );
        assert!(error.hint().is_some_and(|hint| hint.starts_with("chmod 600 ")));
        assert_eq!(mode(&path("shared")), rights);
    }
    fs::write(path("own"), "").expect("it can be written");
    fs::set_permissions(path("own"), Permissions::from_mode(0o600)).expect("its owner may");
    symlink(path("own"), path("link")).expect("a link");
    assert!(matches!(refused("link"), Error::Link { .. }));
    symlink(path("nowhere"), path("dangling")).expect("a link");
    assert!(matches!(refused("dangling"), Error::Link { .. }));
    fs::create_dir(path("folder")).expect("a directory");
    assert!(matches!(refused("folder"), Error::NotAFile { .. }));
    let pipe = std::process::Command::new("mkfifo").arg(path("pipe")).status();
    assert!(pipe.expect("mkfifo is part of the system").success());
    assert!(matches!(refused("pipe"), Error::NotAFile { .. }));
    assert!(matches!(refused("no/such/folder"), Error::Unwritable { .. }));
}

#[test]
fn a_temporary_collection_leaves_nothing() {
    let keys = KeyCollection::temporary().expect("a directory can be made");
    let own = format!("/proc/{}/fd/", std::process::id());
    assert!(keys.path().starts_with(&own), "{}", keys.path().display());
    let library = keys.preload.as_ref().expect("there is one").path().to_owned();
    let directory = library.parent().expect("it is in a directory").to_owned();
    assert_eq!((mode(&directory), mode(keys.path())), (0o700, 0o600));
    append(keys.path(), &line("CLIENT_RANDOM", 1));
    assert!(keys.has_grown());
    assert_eq!(keys.sessions().expect("it can be read"), 1);
    let named: Vec<_> = fs::read_dir(&directory).expect("it is ours").flatten().collect();
    assert_eq!(named.len(), 1, "no file but the library has a name: {named:?}");
    drop(keys);
    assert!(!directory.exists());
}

#[test]
fn programs_write_keys_to_an_open_file_and_to_none_when_it_is_gone() {
    let mut keys = KeyCollection::temporary().expect("a directory can be made");
    let write = |keys: &KeyCollection, text: &str| {
        let script = "echo \"$1\" >> \"$SSLKEYLOGFILE\"";
        let mut command = Command::new("sh");
        command.args(["-c", script, "sh", text]).env_remove("LD_PRELOAD");
        command.env("SSLKEYLOGFILE", keys.path());
        command.stderr(std::process::Stdio::null());
        command.status().expect("there is a shell").success()
    };
    assert!(write(&keys, line("CLIENT_RANDOM", 7).trim_end()));
    assert_eq!(keys.sessions().expect("it can be read"), 1);
    // No process has this number, as if it was gone.
    keys.reach_in(u32::MAX);
    assert!(!write(&keys, "x"));
}

#[test]
fn what_runs_left_that_were_killed_is_removed_and_what_runs_have_is_not() {
    let around = tempfile::tempdir().expect("a directory");
    let path = |name: &str| around.path().join(name);
    for name in ["longwire-keys-1-0", "longwire-keys-2-0", "other-keys-1-0"] {
        fs::create_dir(path(name)).expect("a directory");
        for file in ["keys.log", preload::NAME] {
            fs::write(path(name).join(file), "x").expect("it is written");
        }
    }
    fs::write(path("longwire-keys-2-0").join("notes"), "mine").expect("it is written");
    symlink(path("other-keys-1-0"), path("longwire-keys-3-0")).expect("a link");
    let running = PrivateDirectory::make_in(around.path()).expect("it is made");
    fs::write(running.path().join(preload::NAME), "x").expect("it is written");
    directory::sweep(around.path());
    assert!(!path("longwire-keys-1-0").exists());
    assert_eq!(
        fs::read_dir(path("longwire-keys-2-0")).expect("it stays").count(),
        1
    );
    assert_eq!(fs::read_dir(path("other-keys-1-0")).expect("it stays").count(), 2);
    assert!(running.path().join(preload::NAME).exists());
}

fn variables(file: &str, java_agent: Option<&str>, inherited: &[(&str, &str)]) -> Vec<String> {
    let variables = Variables {
        file: file.as_ref(),
        preload: Some("/run/preload.so".as_ref()),
        java_agent: java_agent.map(str::as_ref),
    };
    let value = |name: &str| {
        inherited
            .iter()
            .find(|(of, _)| *of == name)
            .map(|(_, value)| value.into())
    };
    let all = variables.all(&value).into_iter();
    all.map(|(name, value)| format!("{name}={}", value.display()))
        .collect()
}

#[test]
fn options_of_runtimes_are_extended_and_paths_quoted() {
    assert_eq!(
        variables("/k", None, &[]),
        [
            "SSLKEYLOGFILE=/k",
            "NODE_OPTIONS=--tls-keylog=\"/k\"",
            "LONGWIRE_KEY_LOG=/k",
            "LD_PRELOAD=/run/preload.so"
        ]
    );
    let before = [
        ("NODE_OPTIONS", "--no-warnings"),
        ("LD_PRELOAD", "/x.so"),
        ("JAVA_TOOL_OPTIONS", "-Da=b"),
    ];
    assert_eq!(
        variables("/my \"keys\"\\", Some("/a b/agent.jar"), &before),
        [
            "SSLKEYLOGFILE=/my \"keys\"\\",
            "NODE_OPTIONS=--no-warnings --tls-keylog=\"/my \\\"keys\\\"\\\\\"",
            "JAVA_TOOL_OPTIONS=-Da=b '-javaagent:/a b/agent.jar=/my \"keys\"\\'",
            "LONGWIRE_KEY_LOG=/my \"keys\"\\",
            "LD_PRELOAD=/x.so:/run/preload.so"
        ]
    );
}

#[test]
fn an_agent_that_java_could_not_find_is_refused() {
    let folder = tempfile::tempdir().expect("a directory");
    let keys = || KeyCollection::temporary().expect("a directory can be made");
    let missing = keys().with_java_agent(&folder.path().join("agent.jar"));
    let missing = missing.expect_err("it is not there");
    assert!(
        missing
            .hint()
            .is_some_and(|hint| hint.contains("name.neykov:extract-tls-secrets")),
        "{missing}"
    );
    let jar = folder.path().join("a=b.jar");
    fs::write(&jar, "").expect("it can be written");
    let unclear = keys().with_java_agent(&jar).expect_err("its name ends at '='");
    assert!(matches!(unclear, Error::NotForJava { .. }));
}
