//! What secrets look like that say themselves what they are.

/// Everything that [`TOKENS`] or [`AUTHORIZATION`] finds has one of these in it.
pub const TOKEN_MARKS: [&str; 22] = [
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "sk-",
    "AKIA",
    "ASIA",
    "AIza",
    "xox",
    "npm_",
    "pypi-",
    "hf_",
    "bks_",
    "whsec_",
    "eyJ",
    "Bearer ",
    "bearer ",
    "Basic ",
    "basic ",
];

/// Every other secret has one of these in it: a private key, and what [`URL`] finds.
pub const OTHER_MARKS: [&str; 2] = ["PRIVATE KEY-----", "://"];

/// What a token looks like. It begins where [`MAY_PRECEDE`] says that one can.
pub const TOKENS: [&str; 13] = [
    r"gh[pousr]_[A-Za-z0-9]{36,255}",
    r"github_pat_[A-Za-z0-9_]{22,255}",
    r"glpat-[A-Za-z0-9_-]{20,}",
    r"sk-(?:ant-|proj-|or-|live-)?[A-Za-z0-9_-]{20,}",
    r"(?:AKIA|ASIA)[0-9A-Z]{16}(?-u:\b)",
    r"AIza[0-9A-Za-z_-]{35,64}",
    r"xox[abeprs]-[A-Za-z0-9-]{10,}",
    r"npm_[A-Za-z0-9]{36,64}",
    r"pypi-[A-Za-z0-9_-]{16,}",
    r"hf_[A-Za-z0-9]{30,}",
    r"bks_[0-9a-f]{64}",
    r"whsec_[A-Za-z0-9+/=]{24,}",
    r"eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}",
];

/// A scheme, and in a group what is secret of it.
pub const AUTHORIZATION: &str = r"(?:[Bb]earer|[Bb]asic) ([A-Za-z0-9._~+/-]{20,}=*)";

/// A URL up to its host, and in a group the password: the rest of it is kept.
pub const URL: &str = r#"://[^/\s:@"'\\]{0,256}:([^/\s@"'\\]{3,256})@"#;

/// What may stand before a token: the border of a word, or an escape, whose last letter belongs to
/// it and not to what follows. Line breaks are written so inside of JSON, colours in what a
/// terminal shows, and both in text that was quoted again.
pub const MAY_PRECEDE: &str = concat!(
    r"(?-u:\b)",
    // Letters as JSON and programming languages write them, bytes as URLs do.
    r"|\\(?:[abefnrtv]|[0-7]{3}|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4})|%[0-9A-Fa-f]{2}",
    // Orders to a terminal; the escape letter may itself be written in words.
    r"|(?:\x1b|\\(?:e|033|x1[Bb]|u001[Bb]))(?:\[[0-?]{0,24})?[!-/]{0,2}[0-~]",
);

/// What may become or has become an escape, at the end of a piece.
pub const ENDS_IN_ESCAPE: &str = concat!(
    r"(?:%[0-9A-Fa-f]{0,2}|\\[a-z0-7]?[0-9A-Fa-f]{0,4}",
    r"|(?:\x1b|\\(?:e|033|x1[Bb]|u001[Bb]))(?:\[[0-?]{0,24})?[!-/]{0,2}[0-~]?)$",
);
