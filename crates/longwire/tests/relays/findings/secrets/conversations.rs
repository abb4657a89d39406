//! Recorded logins of clients without a local server, and of our clients with rare server requests.
//!
//! Each is a list of client messages with their replies. The password is always
//! [`super::PASSWORD`].

use super::forms::{ebcdic, scrambled};
use super::{PASSWORD, USER};

pub struct Conversation {
    pub name: &'static str,
    pub scheme: &'static str,
    pub steps: Vec<[Vec<u8>; 2]>,
}

pub fn all() -> Vec<Conversation> {
    vec![
        Conversation {
            name: "MySQL, mysql_clear_password",
            scheme: "mysql",
            steps: mysql_clear(),
        },
        Conversation {
            name: "Informix CONREQ",
            scheme: "informix",
            steps: vec![[informix(), informix_answer()]],
        },
        Conversation {
            name: "TDS LOGIN7",
            scheme: "sqlserver",
            steps: vec![
                [PRELOGIN.to_vec(), PRELOGIN_ANSWER.to_vec()],
                [login7(), LOGINACK.to_vec()],
            ],
        },
        Conversation {
            name: "DRDA SECCHK in EBCDIC",
            scheme: "drda",
            steps: drda(&PASSWORD.bytes().map(ebcdic).collect::<Vec<_>>()),
        },
        Conversation {
            name: "DRDA SECCHK in UTF-8",
            scheme: "tcp",
            steps: drda(PASSWORD.as_bytes()),
        },
        Conversation {
            name: "Oracle, phase two of the login",
            scheme: "oracle",
            steps: oracle(),
        },
        Conversation {
            name: "HTTP Basic, a form and a query",
            scheme: "http",
            steps: http(),
        },
        Conversation {
            name: "PostgreSQL, password in clear, refused",
            scheme: "postgres",
            steps: postgres_refused(),
        },
    ]
}

/// After the greeting the client sends its password for its preferred plugin, is told to switch,
/// and sends it again.
fn mysql_clear() -> Vec<[Vec<u8>; 2]> {
    const CAPABILITIES: u32 = 0x0008_a205;
    let mut greeting = b"\x0a8.0.36\0\x01\0\0\0abcdefgh\0".to_vec();
    greeting.extend(&CAPABILITIES.to_le_bytes()[..2]);
    greeting.extend(b"\x21\x02\0");
    greeting.extend(&CAPABILITIES.to_le_bytes()[2..]);
    greeting.extend(b"\x15\0\0\0\0\0\0\0\0\0\0ijklmnopqrst\0mysql_clear_password\0");
    let mut response = CAPABILITIES.to_le_bytes().to_vec();
    response.extend(b"\0\0\0\x01\x21");
    response.extend([0; 23]);
    let length = u8::try_from(PASSWORD.len() + 1).expect("short");
    response.extend(
        [
            USER.as_bytes(),
            b"\0",
            &[length],
            PASSWORD.as_bytes(),
            b"\0mysql_clear_password\0",
        ]
        .concat(),
    );
    let again = [PASSWORD.as_bytes(), b"\0"].concat();
    let ok = b"\0\0\0\x02\0\0\0";
    let change_user = [
        b"\x11",
        USER.as_bytes(),
        b"\0",
        &[length],
        PASSWORD.as_bytes(),
        b"\0test\0\x21\0mysql_clear_password\0",
    ];
    vec![
        [Vec::new(), mysql(0, &greeting)],
        [mysql(1, &response), mysql(2, b"\xfemysql_clear_password\0")],
        [mysql(3, &again), mysql(4, ok)],
        [
            mysql(0, &change_user.concat()),
            mysql(1, b"\xfemysql_clear_password\0"),
        ],
        [
            mysql(2, &again),
            mysql(
                3,
                b"\xff\x15\x04#28000Access denied for user 'mallory'@'localhost' (using password: YES)",
            ),
        ],
    ]
}

fn mysql(number: u8, body: &[u8]) -> Vec<u8> {
    let length = u8::try_from(body.len()).expect("short");
    [&[length, 0, 0, number], body].concat()
}

/// IBM JDBC driver 4.50.10, as recorded, with another name and password.
fn informix() -> Vec<u8> {
    let field = |text: &str| {
        let length = u16::try_from(text.len() + 1).expect("short");
        [&length.to_be_bytes(), text.as_bytes(), b"\0"].concat()
    };
    let body = [
        b"\0\x64\0\x65\0\0\0\x3d\0\x06IEEEM\0\0lsqlexec\0\0\0\0\0\0\x069.280\0\0\x0cRDS#R000000\0\0\x05sqli\0\0\0\x01\x3c\0\0\0\0\0\0\0\0\x01"
            .to_vec(),
        field(USER),
        field(PASSWORD),
        b"ol\0\0\0\0\0\0\0\0\0\x3dtlitcp\0\0\0\0\0\x01\0\x68\0\x0b\0\0\0\x03\0\x0clo_informix\0\0\0\0\0\0\0\0\0\0\0\0\0\x6a\0\x01\
          \0\x07DBPATH\0\0\x02.\0\0\x6b\0\0\0\0\0\0\x13\xc7\0\0\0\0\0\x03vm\0\0\0\0\x0c/opt/app/xx\0\0\x74\0\x08\0\0\0\0\0\0\0\0\0\x7f"
            .to_vec(),
    ]
    .concat();
    let length = u16::try_from(body.len() + 6).expect("short");
    [&length.to_be_bytes()[..], &[1, 0x3c, 0, 0], &body].concat()
}

fn informix_answer() -> Vec<u8> {
    let body = b"\0\x64\0\x65\0\0\0\x3d\0\x06IEEEI\0\0lsrvinfx\0\0\0\0\0\0\x30IBM Informix Dynamic Server Version 14.10.FC7W1\0\
        \0\x0cAAA#B000000\0\0\x08sqlexec\0\0\0\x01\x3c\0\0\0\0\0\0\0\0\x01\0\0\0ol\0\0\0\0\0\0\0\0\0\x3dsoctcp\0\0\0\0\0\x01\0\x66\
        \0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x7f";
    let length = u16::try_from(body.len() + 6).expect("short");
    [&length.to_be_bytes()[..], &[2, 0x3c, 0x10, 0], body].concat()
}

const PRELOGIN: &[u8] = b"\x12\x01\0\x2f\0\0\0\0\0\0\x1a\0\x06\x01\0\x20\0\x01\x02\0\x21\0\x01\x03\0\x22\0\x04\x04\0\x26\0\x01\xff\
    \x01\0\0\0\0\0\x02\0\0\0\0\0\0";
const PRELOGIN_ANSWER: &[u8] = b"\x04\x01\0\x2f\0\0\x01\0\0\0\x1a\0\x06\x01\0\x20\0\x01\x02\0\x21\0\x01\x03\0\x22\0\x04\x04\0\x26\0\x01\xff\
    \x10\0\x03\xe8\0\0\x02\0\0\0\0\0\0";
/// LOGINACK of a server called "x", and DONE.
const LOGINACK: &[u8] =
    b"\x04\x01\0\x22\0\0\x01\0\xad\x0a\0\x01\x74\0\0\x04\x01x\0\x10\0\x03\xe8\xfd\0\0\0\0\0\0\0\0\0\0\0\0";

/// 36 bytes of settings, offsets and lengths of the texts, then the texts (MS-TDS 2.2.6.4).
fn login7() -> Vec<u8> {
    let wide = |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_le_bytes).collect() };
    let secret = wide(PASSWORD).into_iter().map(scrambled).collect();
    // Host, user, password, application, server, extension, library, language, database.
    let texts = [
        wide("host"),
        wide(USER),
        secret,
        wide("program"),
        wide("db1"),
        vec![],
        wide("library"),
        vec![],
        wide("shop"),
    ];
    let mut places = Vec::new();
    let mut at = 94u16;
    for text in &texts {
        let length = u16::try_from(text.len()).expect("short");
        places.extend([at.to_le_bytes(), (length / 2).to_le_bytes()].concat());
        at += length;
    }
    places.extend([0; 6]);
    // SSPI, file to attach, new password, long SSPI.
    for _ in 0..3 {
        places.extend([at.to_le_bytes(), [0, 0]].concat());
    }
    places.extend([0; 4]);
    let mut body = u32::from(at).to_le_bytes().to_vec();
    body.extend(b"\x04\0\0\x74\0\x10\0\0\0\0\0\x01\x01\0\0\0\0\0\0\0\xe0\x03\0\0\0\0\0\0\x09\x04\0\0");
    body.extend(places);
    body.extend(texts.concat());
    assert_eq!(body.len(), usize::from(at));
    let length = u16::try_from(body.len() + 8).expect("short");
    [&[0x10, 1], &length.to_be_bytes()[..], &[0, 0, 1, 0], &body].concat()
}

/// EXCSAT and ACCSEC, then SECCHK with name and password, which is refused.
fn drda(password: &[u8]) -> Vec<[Vec<u8>; 2]> {
    let name: Vec<u8> = USER.bytes().map(ebcdic).collect();
    let mechanism = ddm(0x11a2, &[0, 3]);
    let excsat = ddm(0x1041, &ddm(0x115e, &[0x84, 0x85, 0x99]));
    let accsec = ddm(0x106d, &mechanism);
    let secchk = ddm(
        0x106e,
        &[mechanism.clone(), ddm(0x11a0, &name), ddm(0x11a1, password)].concat(),
    );
    let refused = ddm(0x1219, &[ddm(0x1149, &[0, 8]), ddm(0x11a4, &[0x0f])].concat());
    vec![
        [
            [dss(0x41, 1, &excsat), dss(0x01, 2, &accsec)].concat(),
            [
                dss(0x43, 1, &ddm(0x1443, &[])),
                dss(0x03, 2, &ddm(0x14ac, &mechanism)),
            ]
            .concat(),
        ],
        [dss(0x01, 1, &secchk), dss(0x02, 1, &refused)],
    ]
}

fn ddm(code_point: u16, content: &[u8]) -> Vec<u8> {
    let length = u16::try_from(content.len() + 4).expect("short");
    [&length.to_be_bytes(), &code_point.to_be_bytes()[..], content].concat()
}

fn dss(format: u8, number: u8, content: &[u8]) -> Vec<u8> {
    let length = u16::try_from(content.len() + 6).expect("short");
    [&length.to_be_bytes()[..], &[0xd0, format, 0, number], content].concat()
}

/// CONNECT and ACCEPT, then a DATA packet with login phase two. Real clients never send the
/// password in clear there.
fn oracle() -> Vec<[Vec<u8>; 2]> {
    let descriptor = format!(
        "(DESCRIPTION=(ADDRESS=(PROTOCOL=tcp)(HOST=db1)(PORT=1521))(CONNECT_DATA=(SERVICE_NAME=shop)(CID=(PROGRAM=app)(USER={USER}))\
         (PASSWORD={PASSWORD})))"
    );
    let length = u16::try_from(descriptor.len()).expect("short");
    let mut connect = b"\x01\x3e\x01\x2c\0\x41\x20\0\xff\xff\x7f\x08\0\0\x01\0".to_vec();
    connect.extend(length.to_be_bytes());
    connect.extend(b"\0\x4a\0\0\0\0\0\0");
    connect.resize(74 - 8, 0);
    connect.extend(descriptor.as_bytes());
    let accept = b"\x01\x3e\0\0\0\0\0\0\0\0\0\x20\0\0\0\0\0\0\0\0\0\0\0\0\x20\0\0\0\0\0\0\0\0";
    let pair = |name: &str, value: &str| {
        let text = |text: &str| {
            let length = u8::try_from(text.len()).expect("short");
            [&[1, length, length], text.as_bytes()].concat()
        };
        [text(name), text(value), vec![0]].concat()
    };
    let user = u8::try_from(USER.len()).expect("short");
    let login = [
        b"\0\0\x03\x73\x01\x01\x01".to_vec(),
        vec![user, 2, 1, 1, 1, 1, 2, 1, 1, user],
        USER.as_bytes().to_vec(),
        pair("AUTH_SESSKEY", "0123456789ABCDEF"),
        pair("AUTH_PASSWORD", PASSWORD),
    ];
    vec![
        [tns(1, &connect), tns(2, accept)],
        [
            tns(6, &login.concat()),
            tns(
                6,
                b"\0\0\x04\x01\x01\x02\x03\xf9\0\0\x1dORA-01017: invalid credential",
            ),
        ],
    ]
}

fn tns(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = u16::try_from(body.len() + 8).expect("short");
    [&length.to_be_bytes()[..], &[0, 0, kind, 0, 0, 0], body].concat()
}

fn http() -> Vec<[Vec<u8>; 2]> {
    let secret = base64(&format!("{USER}:{PASSWORD}"));
    let get = format!(
        "GET /login?user={USER}&password={PASSWORD} HTTP/1.1\r\nHost: {USER}:{PASSWORD}@shop\r\nAuthorization: Basic {secret}\r\n\
         Cookie: session={PASSWORD}\r\nX-Api-Key: {PASSWORD}\r\nReferer: http://{USER}:{PASSWORD}@shop/\r\nUser-Agent: browser\r\n\r\n"
    );
    let form = format!("user={USER}&password={PASSWORD}");
    let post = format!(
        "POST /login HTTP/1.1\r\nHost: shop\r\nContent-Length: {}\r\n\r\n{form}",
        form.len()
    );
    let answer =
        format!("HTTP/1.1 401 Unauthorized\r\nSet-Cookie: session={PASSWORD}\r\nContent-Length: 0\r\n\r\n");
    vec![
        [get.into_bytes(), answer.clone().into_bytes()],
        [post.into_bytes(), answer.into_bytes()],
    ]
}

fn base64(text: &str) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for part in text.as_bytes().chunks(3) {
        let bytes = [0, 1, 2].map(|at| u32::from(part.get(at).copied().unwrap_or(0)));
        let value = bytes[0] << 16 | bytes[1] << 8 | bytes[2];
        for digit in 0..4 {
            let index = (value >> (18 - 6 * digit)) as usize & 63;
            out.push(if digit <= part.len() {
                char::from(DIGITS[index])
            } else {
                '='
            });
        }
    }
    out
}

/// Also has the password in a start-up setting, where it does not belong.
fn postgres_refused() -> Vec<[Vec<u8>; 2]> {
    let settings =
        format!("user\0{USER}\0database\0shop\0password\0{PASSWORD}\0options\0-c app.secret={PASSWORD}\0\0");
    let length = u32::try_from(settings.len() + 8).expect("short");
    let startup = [&length.to_be_bytes(), &[0, 3, 0, 0][..], settings.as_bytes()].concat();
    let length = u32::try_from(PASSWORD.len() + 5).expect("short");
    let password = [b"p", &length.to_be_bytes()[..], PASSWORD.as_bytes(), b"\0"].concat();
    let error = "SFATAL\0C28P01\0Mpassword authentication failed for user \"mallory\"\0\0";
    let length = u32::try_from(error.len() + 4).expect("short");
    let refused = [b"E", &length.to_be_bytes()[..], error.as_bytes()].concat();
    vec![[startup, b"R\0\0\0\x08\0\0\0\x03".to_vec()], [password, refused]]
}
