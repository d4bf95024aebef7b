//! What secrets look like that say themselves what they are.

/// Every secret that [`PATTERNS`] finds has one of these in it.
pub const MARKS: [&str; 24] = [
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
    "PRIVATE KEY-----",
    "://",
    "Bearer ",
    "bearer ",
    "Basic ",
    "basic ",
];

/// The first group, where there is one, is the part that is secret.
pub const PATTERNS: [&str; 15] = [
    r"\bgh[pousr]_[A-Za-z0-9]{36,255}",
    r"\bgithub_pat_[A-Za-z0-9_]{22,255}",
    r"\bglpat-[A-Za-z0-9_-]{20,}",
    r"\bsk-(?:ant-|proj-|or-|live-)?[A-Za-z0-9_-]{20,}",
    r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
    r"\bAIza[0-9A-Za-z_-]{35,64}",
    r"\bxox[abeprs]-[A-Za-z0-9-]{10,}",
    r"\bnpm_[A-Za-z0-9]{36,64}",
    r"\bpypi-[A-Za-z0-9_-]{16,}",
    r"\bhf_[A-Za-z0-9]{30,}",
    r"\bbks_[0-9a-f]{64}",
    r"\bwhsec_[A-Za-z0-9+/=]{24,}",
    r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}",
    r#"://[^/\s:@"'\\]{0,256}:([^/\s@"'\\]{3,256})@"#,
    r"\b(?:[Bb]earer|[Bb]asic) ([A-Za-z0-9._~+/-]{20,}=*)",
];
