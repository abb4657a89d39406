//! Client program and driver, and server version, from connect and login. Users, hosts, paths and
//! keys stand next to them and are never inspected.

use super::answer::OracleVersion;
use super::descriptor::find;
use super::number::text;
use crate::decoding::reader::Reader;

pub(super) fn program(descriptor: &[u8]) -> Option<String> {
    let descriptor = String::from_utf8_lossy(descriptor);
    let name = find(&descriptor, "PROGRAM")?;
    let name = name.rsplit(['/', '\\']).next()?.trim();
    (!name.is_empty()).then(|| name.to_owned())
}

pub(super) fn driver(login: &[u8]) -> Option<&[u8]> {
    let name = value(login, b"SESSION_CLIENT_DRIVER_NAME")?;
    (!name.is_empty() && !name.iter().any(|byte| matches!(byte, b'/' | b'\\'))).then_some(name)
}

/// The program in a login, without path and host, as reported by drivers before 12c (`JDBC Thin
/// Client`).
pub(super) fn program_of_login(login: &[u8]) -> Option<String> {
    let name = String::from_utf8_lossy(value(login, b"AUTH_PROGRAM_NM")?).into_owned();
    let name = name.rsplit(['/', '\\']).next()?;
    let name = name.split('@').next()?.trim();
    (!name.is_empty()).then(|| name.to_owned())
}

/// Whether this is the login step that proves the client's identity, in which drivers name
/// themselves.
pub(super) fn is_last(login: &[u8]) -> bool {
    const KEY: &[u8] = b"AUTH_PASSWORD";
    login.windows(KEY.len()).any(|window| window == KEY)
}

pub(super) fn server_version(answer: &[u8]) -> Option<String> {
    let number = value(answer, b"AUTH_VERSION_NO")?;
    let number = std::str::from_utf8(number).ok()?.trim().parse().ok()?;
    Some(OracleVersion(number).to_string())
}

fn value<'a>(pairs: &'a [u8], key: &[u8]) -> Option<&'a [u8]> {
    let place = pairs.windows(key.len()).position(|window| window == key)?;
    text(&mut Reader::new(pairs.get(place + key.len()..)?))
}

/// Whether encryption or checksums are switched on. Either makes the rest unreadable or longer than
/// declared.
pub(super) fn services_are_on(answer: &[u8]) -> bool {
    services(answer).unwrap_or(true)
}

fn services(answer: &[u8]) -> Option<bool> {
    let mut reader = Reader::new(answer);
    reader.take_bytes(MAGIC_LENGTH_VERSION)?;
    let count = reader.u16_be()?;
    reader.u8()?;
    let mut on = false;
    for _ in 0..count {
        let service = reader.u16_be()?;
        let fields = reader.u16_be()?;
        reader.u32_be()?;
        for place in 0..fields {
            let length = usize::from(reader.u16_be()?);
            reader.u16_be()?;
            let value = reader.take_bytes(length)?;
            let algorithm = place == 1 && matches!(service, ENCRYPTION | CHECKSUMS);
            on |= algorithm && value.iter().any(|&byte| byte != 0);
        }
    }
    Some(on)
}

/// Precede the number of services: 0xDEADBEEF, a length, a version.
const MAGIC_LENGTH_VERSION: usize = 10;
const ENCRYPTION: u16 = 2;
const CHECKSUMS: u16 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_named_without_its_path_and_its_user() {
        let descriptor =
            b"(DESCRIPTION=(CONNECT_DATA=(SERVICE_NAME=x)(CID=(PROGRAM=/home/scott/app)(HOST=h)(USER=u))))";
        assert_eq!(program(descriptor).as_deref(), Some("app"));
        assert_eq!(
            program(b"(CID=(PROGRAM=JDBC Thin Client)(HOST=__jdbc__))").as_deref(),
            Some("JDBC Thin Client")
        );
        assert_eq!(program(b"(CID=(HOST=h))"), None);
    }

    #[test]
    fn names_and_versions_are_found_in_pairs() {
        let login = b"\x01\x1a\x1aSESSION_CLIENT_DRIVER_NAME\x01\x0d\x0dnode-oracledb\0";
        assert_eq!(driver(login), Some(&b"node-oracledb"[..]));
        let answer = b"\x01\x0f\x0fAUTH_VERSION_NO\x01\x09\x09301989888\0";
        assert_eq!(server_version(answer).as_deref(), Some("18.0.0.0.0"));
        assert_eq!(server_version(b"AUTH_VERSION_NO\x01\x09\x0930"), None);
    }

    #[test]
    fn a_login_of_old_names_its_program() {
        let login = b"\x03\x76\x02\x01\x01\x05\x0f\x0fAUTH_PROGRAM_NM\x01\x10\x10JDBC Thin Client\0";
        assert_eq!(program_of_login(login).as_deref(), Some("JDBC Thin Client"));
        let login = b"\x01\x0f\x0fAUTH_PROGRAM_NM\x01\x1b\x1bC:\\bin\\sqlplus@web1 (TNS V1)\0";
        assert_eq!(program_of_login(login).as_deref(), Some("sqlplus"));
        assert_eq!(program_of_login(b"AUTH_TERMINAL"), None);
    }

    #[test]
    fn services_that_are_on_are_told_from_those_that_are_off() {
        let answer = |algorithm: u8| {
            let version = b"\0\x04\0\x05\x15\0\0\0";
            let encryption = [
                b"\0\x02\0\x02\0\0\0\0",
                &version[..],
                b"\0\x01\0\x02",
                &[algorithm],
            ]
            .concat();
            [
                b"\xde\xad\xbe\xef\0\x30\x15\0\0\0\0\x01\0".as_slice(),
                &encryption,
            ]
            .concat()
        };
        assert!(!services_are_on(&answer(0)));
        assert!(services_are_on(&answer(17)));
        assert!(
            services_are_on(b"\xde\xad\xbe\xef\0"),
            "what is not understood is not read on"
        );
    }
}
