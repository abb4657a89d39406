//! Code points of objects and parameters, with the names of DDM.

macro_rules! code_points {
    ($($(#[$doc:meta])* $constant:ident $code:literal;)*) => {
        $($(#[$doc])* pub(super) const $constant: u16 = $code;)*

        /// `None` if longwire does not inspect the code point.
        pub fn name(code: u16) -> Option<&'static str> {
            match code {
                $($code => Some(stringify!($constant)),)*
                _ => error_name(code),
            }
        }
    };
}

macro_rules! errors {
    ($($name:ident $code:literal;)*) => {
        /// The name of the error with this code point.
        pub(super) const fn error_name(code: u16) -> Option<&'static str> {
            match code {
                $($code => Some(stringify!($name)),)*
                _ => None,
            }
        }
    };
}

code_points! {
    /// Exchange of attributes, by which the client introduces itself.
    EXCSAT 0x1041;
    /// The server's attributes, in reply to `EXCSAT`.
    EXCSATRD 0x1443;
    ACCSEC 0x106D;
    SECCHK 0x106E;
    ACCRDB 0x2001;
    ACCRDBRM 0x2201;
    PRPSQLSTT 0x200D;
    DSCSQLSTT 0x2008;
    EXCSQLSTT 0x200B;
    EXCSQLIMM 0x200A;
    EXCSQLSET 0x2014;
    OPNQRY 0x200C;
    CNTQRY 0x2006;
    CLSQRY 0x2005;
    RDBCMM 0x200E;
    RDBRLLBCK 0x200F;
    SQLSTT 0x2414;
    SQLDTA 0x2412;
    /// Description of a statement, after its outcome.
    SQLDARD 0x2411;
    /// Output values of a procedure.
    SQLDTARD 0x2413;
    SQLCARD 0x2408;
    QRYDSC 0x241A;
    QRYDTA 0x241B;
    OPNQRYRM 0x2205;
    /// A query could not be opened, for the reason in [`SQLCARD`].
    OPNQFLRM 0x2212;
    ENDQRYRM 0x220B;
    ENDUOWRM 0x220C;
    RDBUPDRM 0x2218;
    /// There was an error, described by [`SQLCARD`].
    SQLERRRM 0x2213;
    SECCHKRM 0x1219;
    SQLATTR 0x2450;
    /// A value too large for its row.
    EXTDTA 0x146C;
    ACCSECRD 0x14AC;

    /// Severity of a reply, an error from 8 on.
    SVRCOD 0x1149;
    /// Result of the check of a secret, 0 for success.
    SECCHKCD 0x11A4;
    PKGNAMCSN 0x2113;
    QRYBLKSZ 0x2114;
    QRYROWSET 0x2156;
    NBRROW 0x213A;
    EXTNAM 0x115E;
    SRVCLSNM 0x1147;
    SRVRLSLV 0x115A;
    /// Encoding of values.
    TYPDEFNAM 0x002F;
}

errors! {
    MGRLVLRM 0x1210;
    MGRDEPRM 0x1218;
    SECCHKRM 0x1219;
    CMDATHRM 0x121C;
    AGNPRMRM 0x1232;
    RSCLMTRM 0x1233;
    PRCCNVRM 0x1245;
    SYNTAXRM 0x124C;
    CMDNSPRM 0x1250;
    PRMNSPRM 0x1251;
    VALNSPRM 0x1252;
    OBJNSPRM 0x1253;
    CMDCHKRM 0x1254;
    QRYNOPRM 0x2202;
    RDBATHRM 0x2203;
    RDBNACRM 0x2204;
    RDBACCRM 0x2207;
    ABNUOWRM 0x220D;
    DTAMCHRM 0x220E;
    QRYPOPRM 0x220F;
    RDBNFNRM 0x2211;
    RDBAFLRM 0x221A;
    CMMRQSRM 0x2229;
    RTNSETRM 0x222D;
}
