//! Reads the name of the client's interface from a login (LOGIN7). User, password, host, database
//! and keys are never inspected.

use super::utf16;
use crate::decoding::reader::Reader;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Introduction {
    pub client: Option<String>,
    /// Whether the requested version has four-byte row counts, as before TDS 7.2.
    pub short_counts: bool,
}

/// `None` if the login is truncated.
pub(super) fn introduction(login: &[u8]) -> Option<Introduction> {
    let mut fixed = Reader::new(login);
    fixed.u32_le()?;
    let version = fixed.u32_le()?;
    let names = [INTERFACE, APPLICATION].into_iter();
    let client = names.filter_map(|place| name(login, place)).next();
    Some(Introduction {
        client,
        short_counts: version < TDS_7_2,
    })
}

/// Reads the text with offset and number of units at `place`.
fn name(login: &[u8], place: usize) -> Option<String> {
    let mut field = Reader::new(login.get(place..)?);
    let at = usize::from(field.u16_le()?);
    let units = usize::from(field.u16_le()?);
    let name = utf16::text(login.get(at..)?.get(..units * 2)?);
    let name = name.rsplit(['/', '\\']).next().unwrap_or_default().trim();
    (!name.is_empty()).then(|| name.to_owned())
}

const INTERFACE: usize = 60;
const APPLICATION: usize = 48;
const TDS_7_2: u32 = 0x7209_0002;

#[cfg(test)]
mod tests {
    use super::*;

    fn login(application: &str, interface: &str) -> Vec<u8> {
        let units = |text: &str| {
            text.encode_utf16()
                .flat_map(u16::to_le_bytes)
                .collect::<Vec<u8>>()
        };
        let mut login = vec![0; 94];
        login[4..8].copy_from_slice(&0x7400_0004_u32.to_le_bytes());
        for (place, text) in [(APPLICATION, application), (INTERFACE, interface)] {
            let at = u16::try_from(login.len()).expect("short");
            login[place..place + 2].copy_from_slice(&at.to_le_bytes());
            login[place + 2] = u8::try_from(text.len()).expect("short");
            login.extend(units(text));
        }
        login
    }

    #[test]
    fn the_interface_is_named_or_else_the_application() {
        let client = |application, interface| {
            introduction(&login(application, interface)).and_then(|introduction| introduction.client)
        };
        assert_eq!(client("/home/me/shop", "ODBC").as_deref(), Some("ODBC"));
        assert_eq!(client("C:\\shop.exe", "").as_deref(), Some("shop.exe"));
        assert_eq!(client("", ""), None);
        assert_eq!(introduction(b"\0\0\0"), None);
        assert!(!introduction(&login("", "")).expect("whole").short_counts);
    }
}
