//! Unprivileged users, and systems that refuse.

use crate::link::run::ends;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;
use tempfile::TempDir;
use testbed::binary::{self, shown};

fn for_everybody() -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().expect("a directory");
    let open = |path: &std::path::Path| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("it is ours");
    };
    open(directory.path());
    let program = directory.path().join("longwire");
    std::fs::copy(binary::program(), &program).expect("the program can be copied");
    open(&program);
    (directory, program)
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Runs `script` as an unprivileged user with these rights on `/dev/net/tun`; unchanged if already
/// unprivileged.
fn ordinary(script: &str, tun_rights: &str) -> Command {
    let mut command;
    if is_root() {
        command = Command::new(testbed::require("unshare"));
        let prepare = format!(
            "mount -t tmpfs tun /mnt && mknod /mnt/tun c 10 200 && chmod {tun_rights} /mnt/tun && \
             mount --bind /mnt/tun /dev/net/tun && cd / && \
             exec setpriv --reuid=65534 --regid=65534 --clear-groups sh -c \"$0\""
        );
        command.args(["--mount", "sh", "-c", &prepare, script]);
    } else {
        command = Command::new("sh");
        command.args(["-c", script]);
    }
    command
}

#[test]
fn an_ordinary_user_stays_who_they_are_without_rights() {
    let (_directory, program) = for_everybody();
    let ping = testbed::require("ping");
    let inside = format!(
        "id -u; grep -c \"^CapEff:.0*$\" /proc/self/status; {} -c 2 -i 0.5 -w 10 -q $LONGWIRE_GATEWAY",
        ping.display()
    );
    let script = format!("id -u; {} link rtt=20ms -- sh -c '{inside}'", program.display());
    let printed = ends(ordinary(&script, "666"), 0);
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!((lines[0], lines[2]), (lines[1], "1"), "{printed}");
    assert!(printed.contains("2 received"), "{printed}");
}

#[test]
fn a_device_that_is_not_for_everybody_is_told_with_the_remedy() {
    if !is_root() {
        // Only root can restrict the device.
        return;
    }
    let (_directory, program) = for_everybody();
    let script = format!("{} link rtt=20ms -- true", program.display());
    let output = ordinary(&script, "600").output().expect("sh can be started");
    assert_eq!(output.status.code(), Some(2), "{}", shown(&output));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains("/dev/net/tun") && said.contains("hint: run it as root"),
        "{said}"
    );
}

#[test]
fn a_system_without_namespaces_for_users_is_told_with_the_remedy() {
    // In a user namespace that forbids nested ones.
    let (_directory, program) = for_everybody();
    let script = format!(
        "echo 0 >/proc/sys/user/max_user_namespaces; echo 0 >/proc/sys/user/max_pid_namespaces; {} link rtt=20ms -- true",
        program.display()
    );
    let mut command = Command::new(testbed::require("unshare"));
    command.args(["--user", "--map-root-user", "sh", "-c", &script]);
    let output = command.output().expect("unshare can be started");
    assert_eq!(output.status.code(), Some(2), "{}", shown(&output));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains("could not make namespaces") && said.contains("max_user_namespaces"),
        "{said}"
    );
}
