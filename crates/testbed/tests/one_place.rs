//! Operations allowed in one place only. `crates/io/sys/src/listening.rs` binds sockets and decides on
//! warnings and refusals. `crates/io/sys/src/files.rs` reads user-named files, with limits.

use std::path::{Path, PathBuf};

const BINDS: &[&str] = &[
    "TcpListener::bind",
    "UdpSocket::bind",
    "UnixListener::bind",
    "UnixDatagram::bind",
    "TcpSocket::new",
    "net::listen(",
    "net::bind(",
    "libc::listen",
    "libc::bind",
    "socket2",
    "SockAddr",
];

/// `listening.rs`, and the socket of an interface, which accepts no connections.
const MAY: &[&str] = &[
    "io/sys/src/listening.rs",
    "io/sys/src/listening/own_addresses.rs",
    "io/sys/src/packets/open.rs",
];

#[test]
fn every_socket_that_listens_is_made_in_one_place() {
    let mut found = Vec::new();
    for (name, text) in product() {
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if !line.starts_with("//") && binds(line) && !MAY.contains(&name.as_str()) {
                found.push(format!("{name}:{}: {line}", number + 1));
            }
        }
    }
    assert!(
        found.is_empty(),
        "pass these through sys::listening, which warns and refuses:\n{}",
        found.join("\n")
    );
}

#[test]
fn what_binds_is_found_however_it_is_written() {
    for line in [
        "let listener = TcpListener::bind(address)?;",
        "std::os::unix::net::UnixListener::bind(path)",
        "tokio::net::TcpListener::bind(a).await",
        "use rustix::net::{bind, listen};",
        "use std::net::TcpListener as Door;",
        "rustix::net::listen(&socket, 5)",
        "libc::bind(socket, address, length)",
    ] {
        assert!(binds(line), "{line}");
    }
    for line in [
        "use std::net::{SocketAddr, TcpListener};",
        "let listener = Listener::bind(address, options)?;",
        "use sys::listening::{listen, raise_file_limit};",
        "postgres::bind(request, names)",
    ] {
        assert!(!binds(line), "{line}");
    }
}

/// Files that read files of the kernel and this system, with constant paths.
const READ_THE_SYSTEM: &[&str] = &[
    "io/sys/src/own_addresses.rs",
    "io/netns/src/network/addresses.rs",
    "io/netns/src/network/gateway/names.rs",
    "io/netns/src/network/namespace.rs",
    "io/netns/src/sandbox/resolver.rs",
    "io/pipeline/src/output.rs",
    "servers/src/account.rs",
    "servers/src/processes.rs",
    "servers/src/readiness.rs",
    "io/sys/src/arguments.rs",
    "io/sys/src/error.rs",
    "io/sys/src/packets/interfaces.rs",
    "io/sys/src/process_tree.rs",
    "io/sys/src/program.rs",
    "io/sys/src/rights.rs",
    "io/sys/src/socket_owners.rs",
    "tools/telemetry/src/exporters/own.rs",
    "tools/tune/src/native/memory.rs",
];

#[test]
fn no_file_that_a_user_names_is_read_whole_without_a_limit() {
    let mut found = Vec::new();
    for (name, text) in product() {
        for (number, line) in text.lines().enumerate() {
            let reads = ["fs::read_to_string(", "fs::read("]
                .iter()
                .any(|call| line.contains(call));
            if reads && !READ_THE_SYSTEM.contains(&name.as_str()) {
                found.push(format!("{name}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    assert!(
        found.is_empty(),
        "read these by sys::files, which has the limits:\n{}",
        found.join("\n")
    );
}

/// Style, script and its data, and text that is already markup.
const NOT_ESCAPED: &[(&str, usize)] = &[
    ("core/report/src/html/header.rs", 3),
    ("core/report/src/html/markup.rs", 2),
];

#[test]
fn html_is_escaped_by_its_type() {
    let adds_text = |line: &&str| {
        let words = ["PreEscaped", "Render for "];
        !line.starts_with("use ") && words.iter().any(|word| line.contains(word))
    };
    let mut found: Vec<(String, usize)> = product()
        .into_iter()
        .map(|(name, text)| (name, text.lines().filter(adds_text).count()))
        .filter(|(_, lines)| *lines > 0)
        .collect();
    found.sort();
    let found: Vec<(&str, usize)> = found.iter().map(|(name, lines)| (&**name, *lines)).collect();
    assert_eq!(found, NOT_ESCAPED, "pass text to html!, which escapes it");
}

fn binds(line: &str) -> bool {
    let imports = line.starts_with("use ") || line.starts_with("pub use ");
    let words = || line.split(|character: char| !character.is_alphanumeric() && character != '_');
    let imported =
        imports && line.contains("net::") && words().any(|word| word == "bind" || word == "listen");
    let renamed = imports
        && ["Listener as ", "UdpSocket as "]
            .iter()
            .any(|name| line.contains(name));
    imported || renamed || BINDS.iter().any(|what| line.contains(what))
}

/// Product sources without tests, named relative to `crates`.
fn product() -> Vec<(String, String)> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let crates = crates.canonicalize().expect("the crate is next to others");
    let mut files = Vec::new();
    let mut folders: Vec<PathBuf> = ["", "core", "io", "tools"]
        .iter()
        .flat_map(|folder| subfolders(&crates.join(folder)))
        .map(|of| of.join("src"))
        .collect();
    while let Some(folder) = folders.pop() {
        if folder.ends_with("tests") || folder.starts_with(crates.join("testbed")) || !folder.exists() {
            continue;
        }
        folders.extend(subfolders(&folder));
        for entry in std::fs::read_dir(&folder).expect("it can be read").flatten() {
            let path = entry.path();
            let is_rust = path.extension().is_some_and(|extension| extension == "rs");
            if is_rust && !path.ends_with("tests.rs") {
                let text = std::fs::read_to_string(&path).expect("source is text");
                let without_tests = text
                    .split("#[cfg(test)]\nmod ")
                    .next()
                    .unwrap_or_default()
                    .to_owned();
                let name = path.strip_prefix(&crates).expect("it is below");
                files.push((name.display().to_string(), without_tests));
            }
        }
    }
    assert!(files.len() > 500, "{} files of the product", files.len());
    files
}

fn subfolders(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("it can be read").flatten();
    entries
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
        .collect()
}
