//! Code points: what an object, or a parameter in it, is.

/// Client: what the server is, and what it can do.
pub(super) const EXCSAT: u16 = 0x1041;
/// Server: the same of itself.
pub(super) const EXCSATRD: u16 = 0x1443;
/// Which way to log in.
pub(super) const ACCSEC: u16 = 0x106D;
/// User and password.
pub(super) const SECCHK: u16 = 0x106E;
/// Access to a database.
pub(super) const ACCRDB: u16 = 0x2001;
/// It is granted.
pub(super) const ACCRDBRM: u16 = 0x2201;
/// Prepare a statement.
pub(super) const PRPSQLSTT: u16 = 0x200D;
/// Describe a statement.
pub(super) const DSCSQLSTT: u16 = 0x2008;
/// Run a prepared statement.
pub(super) const EXCSQLSTT: u16 = 0x200B;
/// Run a statement by its text.
pub(super) const EXCSQLIMM: u16 = 0x200A;
/// Set special registers by a statement's text.
pub(super) const EXCSQLSET: u16 = 0x2014;
/// Open a query.
pub(super) const OPNQRY: u16 = 0x200C;
/// Another block of a query.
pub(super) const CNTQRY: u16 = 0x2006;
/// Close a query.
pub(super) const CLSQRY: u16 = 0x2005;
/// Commit.
pub(super) const RDBCMM: u16 = 0x200E;
/// Roll back.
pub(super) const RDBRLLBCK: u16 = 0x200F;
/// A statement's text.
pub(super) const SQLSTT: u16 = 0x2414;
/// Values of parameters.
pub(super) const SQLDTA: u16 = 0x2412;
/// Description of a statement, behind what became of it.
pub(super) const SQLDARD: u16 = 0x2411;
/// Values that a procedure gives.
pub(super) const SQLDTARD: u16 = 0x2413;
/// The outcome of a statement.
pub(super) const SQLCARD: u16 = 0x2408;
/// Description of a query's rows.
pub(super) const QRYDSC: u16 = 0x241A;
/// Rows of a query.
pub(super) const QRYDTA: u16 = 0x241B;
/// A query was opened.
pub(super) const OPNQRYRM: u16 = 0x2205;
/// A query could not be opened; [`SQLCARD`] says why.
pub(super) const OPNQFLRM: u16 = 0x2212;
/// A query has no more rows.
pub(super) const ENDQRYRM: u16 = 0x220B;
/// A unit of work ended.
pub(super) const ENDUOWRM: u16 = 0x220C;
/// The statement changed something.
pub(super) const RDBUPDRM: u16 = 0x2218;
/// There was an error, and [`SQLCARD`] says which.
pub(super) const SQLERRRM: u16 = 0x2213;
/// The result of the login.
pub(super) const SECCHKRM: u16 = 0x1219;
/// Attributes of a statement that is prepared.
pub(super) const SQLATTR: u16 = 0x2450;
/// A value too large to be in its row.
pub(super) const EXTDTA: u16 = 0x146C;
/// Which way to log in, the server's answer.
pub(super) const ACCSECRD: u16 = 0x14AC;

/// Severity of a reply; from 8 on, it is an error.
pub(super) const SVRCOD: u16 = 0x1149;
/// What a secret was found to be; 0 is right.
pub(super) const SECCHKCD: u16 = 0x11A4;
/// Package and section of a statement.
pub(super) const PKGNAMCSN: u16 = 0x2113;
/// Bytes of a block of rows.
pub(super) const QRYBLKSZ: u16 = 0x2114;
/// Rows of a block.
pub(super) const QRYROWSET: u16 = 0x2156;
/// Sets of parameters.
pub(super) const NBRROW: u16 = 0x213A;
/// Name of a program.
pub(super) const EXTNAM: u16 = 0x115E;
/// Kind of a server or client.
pub(super) const SRVCLSNM: u16 = 0x1147;
/// Its release.
pub(super) const SRVRLSLV: u16 = 0x115A;
/// How values are written.
pub(super) const TYPDEFNAM: u16 = 0x002F;

/// The name of the error that a reply's code point stands for.
pub(super) fn error_name(code: u16) -> Option<&'static str> {
    let name = match code {
        0x1210 => "MGRLVLRM",
        0x1218 => "MGRDEPRM",
        0x1219 => "SECCHKRM",
        0x121C => "CMDATHRM",
        0x1232 => "AGNPRMRM",
        0x1233 => "RSCLMTRM",
        0x1245 => "PRCCNVRM",
        0x124C => "SYNTAXRM",
        0x1250 => "CMDNSPRM",
        0x1251 => "PRMNSPRM",
        0x1252 => "VALNSPRM",
        0x1253 => "OBJNSPRM",
        0x1254 => "CMDCHKRM",
        0x2202 => "QRYNOPRM",
        0x2203 => "RDBATHRM",
        0x2204 => "RDBNACRM",
        0x2207 => "RDBACCRM",
        0x220D => "ABNUOWRM",
        0x220E => "DTAMCHRM",
        0x220F => "QRYPOPRM",
        0x2211 => "RDBNFNRM",
        0x221A => "RDBAFLRM",
        0x2229 => "CMMRQSRM",
        0x222D => "RTNSETRM",
        _ => return None,
    };
    Some(name)
}
