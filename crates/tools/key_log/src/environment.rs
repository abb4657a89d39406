//! Environment variables that make runtimes write their keys.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

pub(crate) struct Variables<'a> {
    pub file: &'a Path,
    pub preload: Option<&'a Path>,
    pub java_agent: Option<&'a Path>,
}

impl Variables<'_> {
    pub fn all(&self, inherited: &dyn Fn(&str) -> Option<OsString>) -> Vec<(&'static str, OsString)> {
        let extended = |name, separator, more: &OsStr| (name, joined(inherited(name), separator, more));
        // NSS, GnuTLS, curl, Python's default contexts.
        let mut all = vec![("SSLKEYLOGFILE", self.file.into())];
        all.push(extended("NODE_OPTIONS", b' ', &node_option(self.file)));
        if let Some(option) = self.java_agent.and_then(|jar| java_option(jar, self.file)) {
            all.push(extended("JAVA_TOOL_OPTIONS", b' ', &option));
        }
        if let Some(preload) = self.preload {
            all.push(("LONGWIRE_KEY_LOG", self.file.into()));
            all.push(extended("LD_PRELOAD", b':', preload.as_os_str()));
        }
        all
    }
}

fn joined(before: Option<OsString>, separator: u8, more: &OsStr) -> OsString {
    let mut joined = before.unwrap_or_default().into_vec();
    if !joined.is_empty() {
        joined.push(separator);
    }
    joined.extend(more.as_bytes());
    OsString::from_vec(joined)
}

/// In NODE_OPTIONS blanks separate options, and double quotes hold them together. Inside quotes, a
/// backslash escapes either.
fn node_option(file: &Path) -> OsString {
    let mut option = b"--tls-keylog=\"".to_vec();
    for &byte in file.as_os_str().as_bytes() {
        if b"\"\\".contains(&byte) {
            option.push(b'\\');
        }
        option.push(byte);
    }
    option.push(b'"');
    OsString::from_vec(option)
}

/// In JAVA_TOOL_OPTIONS white space separates options. Single or double quotes hold them together,
/// and cannot be escaped. The first `=` of an agent's option ends its path. `None` for paths that
/// cannot be written so.
pub(crate) fn java_option(jar: &Path, file: &Path) -> Option<OsString> {
    let (jar, file) = (jar.as_os_str().as_bytes(), file.as_os_str().as_bytes());
    let option = [b"-javaagent:", jar, b"=", file].concat();
    let quote = [b'"', b'\''].into_iter().find(|quote| !option.contains(quote))?;
    let has_one_meaning = !jar.contains(&b'=') && !option.contains(&b'\n');
    has_one_meaning.then(|| OsString::from_vec([&[quote], &*option, &[quote]].concat()))
}
