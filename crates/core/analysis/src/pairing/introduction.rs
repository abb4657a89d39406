//! A client's software, and start-up parameters that affect speed.

use model::Content;
use std::sync::Arc;

#[derive(Debug, Default)]
pub(super) struct Introduction {
    pub(super) driver: Option<Arc<str>>,
    pub(super) settings: Vec<(Arc<str>, Arc<str>)>,
}

impl Introduction {
    /// The first name of a client wins.
    pub(super) fn process_content(&mut self, content: Content<'_>) {
        if let Content::Client { text } = content
            && self.driver.is_none()
        {
            let text = printable(text);
            self.driver = (!text.is_empty()).then(|| text.into());
        }
        let Content::Parameter { name, value } = content else {
            return;
        };
        let known = KNOWN
            .iter()
            .find(|known| known.as_bytes().eq_ignore_ascii_case(name));
        if let Some(known) = known
            && self.settings.len() < MAX_SETTINGS
            && !self.settings.iter().any(|(name, _)| **name == **known)
        {
            self.settings.push((Arc::from(*known), printable(value).into()));
        }
    }
}

/// Removes control characters and cuts to [`MAX_VALUE_LEN`] bytes.
fn printable(text: &[u8]) -> String {
    let shown = text.get(..MAX_VALUE_LEN).unwrap_or(text);
    let shown = String::from_utf8_lossy(shown);
    let shown = shown.chars().filter(|character| !character.is_control());
    shown.collect::<String>().trim().to_owned()
}

/// Start-up parameters that affect speed or identify the driver. Never one that may hold a name or
/// secret.
const KNOWN: [&str; 14] = [
    "comm_compress",
    "compress_level",
    "compress_min",
    "compress_max",
    "FET_BUF_SIZE",
    "IFX_USEPUT",
    "OPTOFC",
    "IFX_AUTOFREE",
    "QRYBLKSZ",
    "SDU",
    "packet_size",
    "client_encoding",
    "extra_float_digits",
    "compression",
];

const MAX_VALUE_LEN: usize = 128;
const MAX_SETTINGS: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_parameters_are_kept_and_nothing_a_terminal_would_obey() {
        let mut introduction = Introduction::default();
        introduction.process_content(Content::Client {
            text: b"a\x1b[31m driver\n",
        });
        introduction.process_content(Content::Client { text: b"another" });
        for (name, value) in [
            (&b"user"[..], &b"anna"[..]),
            (b"password", b"secret"),
            (b"fet_buf_size", b"32767"),
            (b"FET_BUF_SIZE", b"1"),
        ] {
            introduction.process_content(Content::Parameter { name, value });
        }
        assert_eq!(introduction.driver.as_deref(), Some("a[31m driver"));
        let settings: Vec<(&str, &str)> = introduction
            .settings
            .iter()
            .map(|(name, value)| (&**name, &**value))
            .collect();
        assert_eq!(settings, [("FET_BUF_SIZE", "32767")]);
    }
}
