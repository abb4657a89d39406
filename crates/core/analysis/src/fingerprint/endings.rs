//! The word after the last dot of a path part: a file's ending, or a family name.

use super::interface_versions::is_version;

/// Whether dotted words are probably a person's name (`jane.doe`), or a document named so, and not
/// a program's file.
///
/// 1. The last word is no ending of a file or domain. Documents ([`DOCUMENTS`]), which users bring, need one
///    dot more.
/// 2. `shop.v1.Orders` and `chat.postMessage` are methods of programs: they have a version, or a
///    capital after a small letter or word.
pub(super) fn is_dotted_name(part: &str) -> bool {
    let mut pieces: Vec<&str> = part.split('.').filter(|piece| !piece.is_empty()).collect();
    if let Some(last) = pieces.last()
        && DOCUMENTS.iter().any(|ending| ending.eq_ignore_ascii_case(last))
    {
        pieces.pop();
    }
    let [first, .., last] = pieces.as_slice() else {
        return false;
    };
    let is_ending = |ending: &&str| ending.eq_ignore_ascii_case(last);
    let is_of_program = !begins_with_capital(first) && last.bytes().any(|byte| byte.is_ascii_uppercase());
    !is_of_program
        && !pieces.iter().any(|piece| is_version(piece))
        && !PROGRAMS.iter().any(is_ending)
        && !DOMAINS.iter().any(is_ending)
}

fn begins_with_capital(text: &str) -> bool {
    text.starts_with(|letter: char| letter.is_uppercase())
}

/// Files of programs and pages may have several dots, as `jquery.min.js`.
const PROGRAMS: [&str; 61] = [
    "action",
    "ashx",
    "asmx",
    "asp",
    "aspx",
    "atom",
    "axd",
    "bin",
    "cfm",
    "cgi",
    "cjs",
    "conf",
    "css",
    "dll",
    "do",
    "eot",
    "exe",
    "faces",
    "gz",
    "htm",
    "html",
    "ico",
    "jar",
    "js",
    "jsf",
    "json",
    "jsonl",
    "jsp",
    "jsx",
    "less",
    "log",
    "map",
    "md",
    "mjs",
    "mpd",
    "ndjson",
    "otf",
    "php",
    "phtml",
    "pl",
    "py",
    "rb",
    "rss",
    "scss",
    "shtml",
    "sql",
    "svc",
    "svg",
    "tar",
    "toml",
    "ts",
    "tsx",
    "ttf",
    "wasm",
    "webmanifest",
    "woff",
    "wsdl",
    "xhtml",
    "xml",
    "yaml",
    "yml",
];

const DOCUMENTS: [&str; 38] = [
    "7z", "avif", "bmp", "csv", "doc", "docx", "gif", "ics", "jpeg", "jpg", "m3u8", "mkv", "mov", "mp3",
    "mp4", "odp", "ods", "odt", "ogg", "parquet", "pdf", "png", "ppt", "pptx", "rtf", "tgz", "tif", "tiff",
    "tsv", "txt", "vcf", "wav", "webm", "webp", "woff2", "xls", "xlsx", "zip",
];

/// Services may be named by domains, as `events.k8s.io` of Kubernetes.
const DOMAINS: [&str; 5] = ["com", "dev", "io", "net", "org"];
