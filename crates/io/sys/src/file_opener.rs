//! Reopens a file after this process has dropped the right to, by a helper process that opens that
//! file only.

use crate::forked::{self, ForkChannel, OwnerChannel, OwnerState};
use crate::wait::until_readable;
use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Child, Command};
use std::time::Duration;

/// Ends when it is dropped or this process ends.
#[derive(Debug)]
pub struct FileOpener {
    process: Child,
    channel: ForkChannel,
}

impl FileOpener {
    /// Calls `open` for each request.
    pub fn start(open: impl Fn() -> io::Result<File> + Send + Sync + 'static) -> io::Result<Self> {
        let mut never = Command::new("/");
        never.process_group(0);
        let (process, channel) = forked::spawn(&mut never, move |channel| {
            // A panic ends here too: the rest of the fork is longwire's.
            let _ = catch_unwind(AssertUnwindSafe(|| {
                let owner = OwnerChannel::take_over(channel, c"longwire files");
                loop {
                    while until_readable([Some(owner.as_fd())], FOREVER) == [false] {}
                    match owner.state() {
                        OwnerState::Signal(_) | OwnerState::Started => owner.hand_over(open()),
                        OwnerState::Done | OwnerState::Gone => return,
                    }
                }
            }));
            forked::exit_now()
        })?;
        Ok(Self { process, channel })
    }

    pub fn open(&self) -> io::Result<File> {
        self.channel.pass(OPEN);
        self.channel.take_over_file()
    }
}

impl Drop for FileOpener {
    fn drop(&mut self) {
        self.channel.release();
        self.process.wait().ok();
    }
}

const OPEN: libc::c_int = 1;
const FOREVER: Duration = Duration::from_secs(3600);

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn the_next_file_is_opened_elsewhere_and_written_here() {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("file");
        let made = path.clone();
        let opener = FileOpener::start(move || {
            std::fs::rename(&made, made.with_extension("1"))?;
            File::create(&made)
        });
        let opener = opener.expect("it starts");
        let error = opener.open().expect_err("there is no file yet");
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        std::fs::write(&path, "first").expect("it is written");
        let mut next = opener.open().expect("it is made");
        next.write_all(b"second").expect("it is written");
        let read = |path: &std::path::Path| std::fs::read_to_string(path).expect("it is there");
        assert_eq!(
            (read(&path.with_extension("1")), read(&path)),
            ("first".to_owned(), "second".to_owned())
        );
    }
}
