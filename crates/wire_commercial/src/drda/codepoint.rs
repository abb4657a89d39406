//! Code points of objects and parameters, with the names of DDM.

/// Exchange of attributes, by which the client introduces itself.
pub(super) const EXCSAT: u16 = 0x1041;
/// The server's attributes, in reply to `EXCSAT`.
pub(super) const EXCSATRD: u16 = 0x1443;
pub(super) const ACCSEC: u16 = 0x106D;
pub(super) const SECCHK: u16 = 0x106E;
pub(super) const ACCRDB: u16 = 0x2001;
pub(super) const ACCRDBRM: u16 = 0x2201;
pub(super) const PRPSQLSTT: u16 = 0x200D;
pub(super) const DSCSQLSTT: u16 = 0x2008;
pub(super) const EXCSQLSTT: u16 = 0x200B;
pub(super) const EXCSQLIMM: u16 = 0x200A;
pub(super) const EXCSQLSET: u16 = 0x2014;
pub(super) const OPNQRY: u16 = 0x200C;
pub(super) const CNTQRY: u16 = 0x2006;
pub(super) const CLSQRY: u16 = 0x2005;
pub(super) const RDBCMM: u16 = 0x200E;
pub(super) const RDBRLLBCK: u16 = 0x200F;
pub(super) const SQLSTT: u16 = 0x2414;
pub(super) const SQLDTA: u16 = 0x2412;
/// Description of a statement, after its outcome.
pub(super) const SQLDARD: u16 = 0x2411;
/// Output values of a procedure.
pub(super) const SQLDTARD: u16 = 0x2413;
pub(super) const SQLCARD: u16 = 0x2408;
pub(super) const QRYDSC: u16 = 0x241A;
pub(super) const QRYDTA: u16 = 0x241B;
pub(super) const OPNQRYRM: u16 = 0x2205;
/// A query could not be opened, for the reason in [`SQLCARD`].
pub(super) const OPNQFLRM: u16 = 0x2212;
pub(super) const ENDQRYRM: u16 = 0x220B;
pub(super) const ENDUOWRM: u16 = 0x220C;
pub(super) const RDBUPDRM: u16 = 0x2218;
/// There was an error, described by [`SQLCARD`].
pub(super) const SQLERRRM: u16 = 0x2213;
pub(super) const SECCHKRM: u16 = 0x1219;
pub(super) const SQLATTR: u16 = 0x2450;
/// A value too large for its row.
pub(super) const EXTDTA: u16 = 0x146C;
pub(super) const ACCSECRD: u16 = 0x14AC;

/// Severity of a reply, an error from 8 on.
pub(super) const SVRCOD: u16 = 0x1149;
/// Result of the check of a secret, 0 for success.
pub(super) const SECCHKCD: u16 = 0x11A4;
pub(super) const PKGNAMCSN: u16 = 0x2113;
pub(super) const QRYBLKSZ: u16 = 0x2114;
pub(super) const QRYROWSET: u16 = 0x2156;
pub(super) const NBRROW: u16 = 0x213A;
pub(super) const EXTNAM: u16 = 0x115E;
pub(super) const SRVCLSNM: u16 = 0x1147;
pub(super) const SRVRLSLV: u16 = 0x115A;
/// Encoding of values.
pub(super) const TYPDEFNAM: u16 = 0x002F;

/// The name of the error with this code point.
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
