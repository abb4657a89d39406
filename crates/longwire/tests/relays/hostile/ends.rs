//! Exit statuses of ended runs.

use std::net::TcpListener;
use std::process::Stdio;
use std::time::Duration;
use testbed::Started;
use testbed::binary::longwire;

/// For service managers and scripts: 128 + signal, in every command.
#[test]
fn the_status_says_which_signal_ended_a_run() {
    let server = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let target = format!("tcp://{}", server.local_addr().expect("it has one"));
    let folder = tempfile::tempdir().expect("a directory");
    let keys = folder.path().join("keys").display().to_string();
    let waits = ["--", "sh", "-c", "echo ready >&2; exec sleep 600"];
    for (arguments, says) in [
        (&["watch", &target][..], "Ctrl-C ends"),
        (&[&["watch", &target][..], &waits].concat(), "ready"),
        (&["relay", &target], "Ctrl-C ends"),
        (&[&["relay", &target][..], &waits].concat(), "ready"),
        (&["relay", "--api", "127.0.0.1:0"], "Ctrl-C ends"),
        (&["echo", "--listen", "127.0.0.1:0"], "Ctrl-C ends"),
        (&[&["keys", "-o", &keys][..], &waits].concat(), "ready"),
    ] {
        for (signal, status) in [(libc::SIGINT, 130), (libc::SIGTERM, 143), (libc::SIGHUP, 129)] {
            let mut run = Started::heard(longwire(arguments).stdout(Stdio::null()));
            run.hears(says);
            run.signal(signal);
            let ended = run.ends_within(Duration::from_secs(20)).code();
            assert_eq!(ended, Some(status), "{arguments:?}: {}", run.said());
        }
    }
}
