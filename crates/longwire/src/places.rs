//! `longwire.toml` of a user: names of places, for their round-trip times.

use anyhow::{Context, Result};
use link::LinkDescription;
use model::{ConfigError, ConfigFile, parse_duration};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::env;
use std::fmt::Display;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use sys::files::{MAX_CONFIG_BYTES, read_small_text};
use toml::Spanned;

/// Round-trip times as written, by place.
#[derive(Debug, Clone, Default)]
pub struct Places(BTreeMap<String, String>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    places: BTreeMap<Spanned<String>, Spanned<String>>,
}

impl Places {
    /// Empty without a file, and if the user may not enter its folder.
    ///
    /// # Errors
    /// If the file cannot be read, or has a fault.
    pub fn of_user() -> Result<Self> {
        let Some(path) = user_file() else {
            return Ok(Self::default());
        };
        match read_small_text(&path, MAX_CONFIG_BYTES) {
            Ok(text) => Ok(Self::parse(&path, &text)?),
            Err(fault) if is_absent(&path, fault.kind()) => Ok(Self::default()),
            Err(fault) => Err(fault).with_context(|| format!("could not read {}", path.display())),
        }
    }

    fn parse(path: &Path, text: &str) -> Result<Self, ConfigError> {
        let at = ConfigFile {
            path,
            text,
            reference: "docs/flags.md#places has the keys of longwire.toml",
        };
        let file: File =
            toml::from_str(text).map_err(|fault| at.parse_error(fault.span(), fault.message()))?;
        for (name, rtt) in &file.places {
            let place = name.get_ref();
            let fault = |span, what: &dyn Display| at.error(span, format!("places.{place}: {what}"));
            if !is_name(place) {
                let what = "a place is a word of letters, digits, '-' and '_' that begins with a letter";
                return Err(fault(name.span(), &what));
            }
            if let Err(what) = parse_rtt(rtt.get_ref()) {
                return Err(fault(rtt.span(), &what));
            }
        }
        let places = file.places.into_iter();
        let texts = places.map(|(name, rtt)| (name.into_inner(), rtt.into_inner()));
        Ok(Self(texts.collect()))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// `text` with times for places: all of it, a part between commas, or after `=` or `@`.
    pub fn resolve(&self, text: &str) -> String {
        let is_one_word = !text.contains(char::is_whitespace);
        let mut resolved = String::new();
        let mut before = if is_one_word { ',' } else { ' ' };
        for piece in text.split_inclusive(SEPARATORS) {
            let word = piece.trim_end_matches(SEPARATORS);
            let after = &piece[word.len()..];
            match self.0.get(word).filter(|_| before != ' ' && after != "=") {
                Some(rtt) => resolved.extend([rtt, after]),
                None => resolved.push_str(piece),
            }
            before = after.chars().next().unwrap_or(before);
        }
        resolved
    }

    /// The file, or the link of a place in its stead if there is no such file.
    pub fn resolve_file(&self, file: PathBuf) -> PathBuf {
        let place = file.to_str().filter(|_| !file.exists());
        place.map(|place| self.resolve(place).into()).unwrap_or(file)
    }

    /// Parses `text` with its places resolved. An error names the known places.
    pub fn parse_with<T, E: Display>(
        &self,
        text: &str,
        parse: impl Fn(&str) -> Result<T, E>,
    ) -> Result<T, String> {
        parse(&self.resolve(text)).map_err(|fault| {
            let known: Vec<_> = self.0.keys().map(String::as_str).collect();
            format!("{fault}; your places are {}", known.join(", "))
        })
    }
}

/// As `$XDG_CONFIG_HOME` is specified: absolute, else ignored.
fn user_file() -> Option<PathBuf> {
    let absolute = |name| {
        env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let folder = absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")))?;
    Some(folder.join("longwire.toml"))
}

/// Also a folder of another user, as `sudo` may leave its caller's HOME.
fn is_absent(path: &Path, kind: ErrorKind) -> bool {
    match kind {
        ErrorKind::PermissionDenied => path.symlink_metadata().is_err(),
        kind => matches!(kind, ErrorKind::NotFound | ErrorKind::NotADirectory),
    }
}

fn is_name(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
        && text != "none"
}

fn parse_rtt(text: &str) -> Result<()> {
    parse_duration(text)?;
    text.parse::<LinkDescription>()?;
    Ok(())
}

const SEPARATORS: [char; 4] = [',', '=', '@', ' '];

#[cfg(test)]
mod tests {
    use super::*;

    fn places(text: &str) -> Result<Places, String> {
        Places::parse(Path::new("longwire.toml"), text).map_err(|fault| fault.to_string())
    }

    #[test]
    fn a_place_stands_for_its_time() {
        let places = places("[places]\nfrankfurt = '12ms'\nus-east = '90ms'\n").unwrap();
        for (text, resolved) in [
            ("frankfurt", "12ms"),
            ("us-east,40ms,frankfurt", "90ms,40ms,12ms"),
            ("rtt=frankfurt rate=10mbit", "rtt=12ms rate=10mbit"),
            ("postgres=frankfurt", "postgres=12ms"),
            ("GET /frankfurt of=200ms@us-east", "GET /frankfurt of=200ms@90ms"),
            ("frankfurt=200ms@us-east", "frankfurt=200ms@90ms"),
            (
                "tc qdisc add dev frankfurt root",
                "tc qdisc add dev frankfurt root",
            ),
            ("none", "none"),
            ("west", "west"),
        ] {
            assert_eq!(places.resolve(text), resolved);
        }
        let unknown = places.parse_with("west", parse_duration).unwrap_err();
        assert!(
            unknown.ends_with("; your places are frankfurt, us-east"),
            "{unknown}"
        );
    }

    #[test]
    fn a_file_that_the_user_may_not_read_is_not_absent() {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("longwire.toml");
        assert!(is_absent(&path, ErrorKind::NotFound));
        assert!(is_absent(&path, ErrorKind::PermissionDenied), "its folder");
        std::fs::write(&path, "").expect("written");
        assert!(!is_absent(&path, ErrorKind::PermissionDenied));
    }

    #[test]
    fn faults_have_their_place() {
        for (text, fault) in [
            (
                "[place]\na = '1ms'\n",
                "longwire.toml:1:2: unknown field `place`, expected `places`",
            ),
            ("[places]\na = '12'\n", "longwire.toml:2:5: places.a: "),
            ("[places]\na = '2h'\n", "longwire.toml:2:5: places.a: "),
            (
                "[places]\na = 12\n",
                "longwire.toml:2:5: places.a: invalid type: integer `12`",
            ),
            (
                "[places]\n'a b' = '1ms'\n",
                "longwire.toml:2:1: places.a b: a place is a word",
            ),
            ("[places]\nnone = '1ms'\n", "longwire.toml:2:1: places.none: "),
            ("[places\n", "longwire.toml:1:8: "),
        ] {
            let found = places(text).unwrap_err();
            assert!(found.starts_with(fault), "{text}: {found}");
        }
    }
}
