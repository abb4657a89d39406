//! Finds and runs programs, and starts servers on free ports.

use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use servers::{Account, Here, Running, ServerPlace};
use tempfile::TempDir;

/// Panics with the command that installs `program` if it is missing.
pub fn require(program: &str) -> PathBuf {
    servers::program::find(program)
        .unwrap_or_else(|| panic!("{program} is missing: run `make test`, which installs it"))
}

/// A free port of 127.0.0.1. Another process may take it before use: callers must retry with
/// another port then.
pub fn free_port() -> u16 {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .and_then(|listener| listener.local_addr())
        .map(|address| address.port())
        .unwrap_or_else(|error| panic!("no free port on 127.0.0.1: {error}"))
}

/// Restores the default reaction to SIGINT, which shells disable for background jobs and their
/// children.
pub fn heed_interrupts(command: &mut Command) {
    let heed = || {
        // SAFETY: two constants; the usual reaction is none of this process's functions.
        match unsafe { libc::signal(libc::SIGINT, libc::SIG_DFL) } {
            libc::SIG_ERR => Err(std::io::Error::last_os_error()),
            _ => Ok(()),
        }
    };
    // SAFETY: between fork and exec it makes one system call, and takes neither locks nor memory.
    unsafe { command.pre_exec(heed) };
}

/// Panics with the complete output if `command` fails.
pub fn run(mut command: Command) -> String {
    let program = command.get_program().to_owned();
    let output = command
        .stdin(Stdio::null())
        .output()
        .unwrap_or_else(|error| panic!("{}: {error}", program.display()));
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{}: {}\n{printed}{complaint}",
        program.display(),
        output.status
    );
    printed
}

/// A directory writable for the server's account, with a name short enough for a Unix socket.
pub(crate) fn private_directory(account: Account) -> TempDir {
    let directory = tempfile::Builder::new().prefix("testbed-").tempdir();
    let directory = directory.unwrap_or_else(|error| panic!("temporary directory: {error}"));
    given(account.own(directory.path()));
    directory
}

/// Starts a server on a free port of 127.0.0.1; retries if another process took it.
pub(crate) fn launch(
    name: &str,
    directory: &Path,
    start: impl Fn(&ServerPlace<'_>) -> Result<Running, servers::Error>,
) -> (Running, u16) {
    let mut attempts = 0;
    loop {
        let place = ServerPlace {
            name,
            host: &Here,
            directory,
            listen: Ipv4Addr::LOCALHOST,
            port: free_port(),
            ready_within: READY_WITHIN,
        };
        attempts += 1;
        match start(&place) {
            Ok(running) => return (running, place.port),
            Err(error) if error.is_port_in_use() && attempts < PORT_ATTEMPTS => {}
            Err(error) => panic!("{error}"),
        }
    }
}

pub(crate) fn given<T>(result: Result<T, servers::Error>) -> T {
    result.unwrap_or_else(|error| panic!("{error}"))
}

const PORT_ATTEMPTS: u32 = 5;
const READY_WITHIN: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "no-such-program is missing: run `make test`, which installs it")]
    fn a_missing_program_says_how_to_get_it() {
        require("no-such-program");
    }
}
