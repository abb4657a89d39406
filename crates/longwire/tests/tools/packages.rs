//! The wheel and the npm packages of `scripts/packages.sh`, installed from an index of their own.

use super::action::{Runner, capture};
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;
use testbed::binary::{done, program, shown, stderr, stdout};
use testbed::{Started, process, python};

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A registry of npm and an index of Python packages: files behind an HTTP server.
struct Index {
    folder: tempfile::TempDir,
    url: String,
    _server: Started,
}

impl Index {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a directory");
        make_packages(folder.path());
        let mut server = Command::new(process::require("sh"));
        let serve = "exec python3 -u -m http.server --bind 127.0.0.1 0 1>&2";
        server.args(["-c", serve]).current_dir(folder.path());
        let (server, address) = Started::listening(&mut server, "(http://");
        let index = Self {
            url: format!("http://{address}"),
            folder,
            _server: server,
        };
        index.list();
        index
    }

    /// PEP 503, and npm's packuments.
    fn list(&self) {
        let write = |name: &str, text: String| {
            let path = self.folder.path().join(name);
            fs::create_dir_all(path.parent().expect("it is in the folder")).expect("a directory");
            fs::write(path, text).expect("it is written");
        };
        let wheel = format!("longwire-{VERSION}-py3-none-manylinux_2_28_x86_64.whl");
        let links = format!("<a href=\"../../{wheel}\">{wheel}</a>");
        write("simple/longwire/index.html", links);
        for name in ["longwire", "longwire-linux-x64"] {
            let tarball = format!("{name}-{VERSION}.tgz");
            let manifest = Command::new("tar")
                .args(["-xzOf", &tarball, "package/package.json"])
                .current_dir(self.folder.path())
                .output()
                .expect("tar starts");
            let mut manifest: serde_json::Value = serde_json::from_str(&stdout(&manifest)).expect("JSON");
            manifest["dist"] = json!({ "tarball": format!("{}/{tarball}", self.url) });
            let packument = json!({
                "name": name,
                "dist-tags": { "latest": VERSION },
                "versions": { VERSION: manifest },
            });
            write(name, packument.to_string());
        }
    }

    fn simple(&self) -> String {
        format!("{}/simple", self.url)
    }

    /// A program of npm that keeps nothing outside of `home`.
    fn npm(&self, program: &str, home: &Path) -> Command {
        let mut command = Command::new(process::require(program));
        command
            .env("HOME", home)
            .env("npm_config_cache", home.join("cache"))
            .env("npm_config_registry", &self.url)
            .current_dir(home);
        command
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Without the debug information of a test's program, which would take long to compress.
fn make_packages(folder: &Path) {
    let stripped = folder.join("longwire-stripped");
    let mut strip = Command::new(process::require("strip"));
    strip.arg("-o").arg(&stripped).arg(program());
    process::run(strip);
    let environment = python::environment(&["wheel==0.46.3"]);
    let path = std::env::var("PATH").expect("a search path");
    let mut packages = Command::new(root().join("scripts/packages.sh"));
    packages
        .arg(&stripped)
        .arg(folder)
        .env("PATH", format!("{}:{path}", environment.display()));
    process::run(packages);
}

fn output(command: &mut Command) -> Output {
    command.output().expect("it starts")
}

#[test]
fn packages_install_from_an_index() {
    let index = Index::new();
    let scratch = tempfile::tempdir().expect("a directory");
    with_pip(&index, scratch.path());
    with_uvx(&index, scratch.path());
    let ran = output(index.npm("npx", scratch.path()).args(["--yes", "longwire", "-V"]));
    assert_version(&ran);
    in_the_action(&index);
    let launcher = npm_install(&index, scratch.path());
    passes_on_the_exit_status(&launcher);
    passes_on_signals(&launcher);
    let program = scratch.path().join("node_modules/longwire-linux-x64");
    fs::remove_dir_all(program).expect("it is there");
    let alone = output(Command::new(&launcher).arg("-V"));
    assert_eq!(alone.status.code(), Some(2), "{}", shown(&alone));
    assert!(
        stderr(&alone).contains("longwire-linux-x64 is not installed"),
        "{}",
        shown(&alone)
    );
}

#[track_caller]
fn assert_version(output: &Output) {
    assert_eq!(
        stdout(output),
        format!("longwire {VERSION}\n"),
        "{}",
        shown(output)
    );
}

fn with_pip(index: &Index, scratch: &Path) {
    let environment = scratch.join("venv");
    let mut venv = Command::new(process::require("python3"));
    venv.args(["-m", "venv"]).arg(&environment);
    process::run(venv);
    let mut pip = Command::new(environment.join("bin/pip"));
    pip.args(["install", "--quiet", "--index-url", &index.simple(), "longwire"]);
    process::run(pip);
    assert_version(&output(Command::new(environment.join("bin/longwire")).arg("-V")));
}

fn with_uvx(index: &Index, scratch: &Path) {
    let mut uvx = Command::new(python::environment(&["uv==0.9.18"]).join("uvx"));
    uvx.args(["--index-url", &index.simple(), "--cache-dir"])
        .arg(scratch.join("uv"));
    assert_version(&output(uvx.args(["longwire", "-V"])));
}

/// The action finds no `longwire` in PATH and installs the wheel.
fn in_the_action(index: &Index) {
    let arguments = "--max-round-trips 1000 --operations connection";
    let ran = Runner::with_index(&index.simple()).run(&[("files", &capture()), ("args", arguments)]);
    assert_eq!(ran.status, 0, "{}", ran.log);
}

fn npm_install(index: &Index, folder: &Path) -> PathBuf {
    done(&output(
        index.npm("npm", folder).args(["install", "--silent", "longwire"]),
    ));
    folder.join("node_modules/.bin/longwire")
}

fn passes_on_the_exit_status(launcher: &Path) {
    let refused = output(Command::new(launcher).args(["read", "missing.pcap"]));
    assert_eq!(refused.status.code(), Some(2), "{}", shown(&refused));
    assert!(stderr(&refused).contains("missing.pcap"), "{}", shown(&refused));
}

fn passes_on_signals(launcher: &Path) {
    let mut listener = Started::heard(Command::new(launcher).args(["echo", "--listen", "127.0.0.1:0"]));
    listener.hears("127.0.0.1:");
    listener.signal(libc::SIGTERM);
    let status = listener.ends_within(Duration::from_secs(20));
    assert_eq!(status.code(), Some(143), "{}", listener.said());
}
