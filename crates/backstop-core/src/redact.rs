//! Takes secrets out of what is about to be written.
//!
//! A secret is the value of a variable that was named, or what looks like one: a token with a known
//! beginning, a private key, a password in a URL. What a person sees on their own terminal is not
//! touched; what is kept or sent is.

mod known;
mod stream;

use std::borrow::Cow;
use std::cmp::Reverse;
use std::sync::{Arc, LazyLock};

use regex::Regex as TextRegex;
use regex::bytes::{Captures, Regex, RegexBuilder};

pub use stream::Stream;

use known::{AUTHORIZATION, MAY_PRECEDE, OTHER_MARKS, TOKEN_MARKS, TOKENS, URL};
use stream::overlap;

/// Knows what must not be written.
#[derive(Clone, Debug)]
pub struct Redactor {
    /// Values of variables, the longest first.
    values: Option<Regex>,
    /// The same, plain.
    forms: Arc<[String]>,
    /// The policy's own.
    own: Option<Regex>,
}

impl Redactor {
    /// Knows these values, and what looks like a secret by one of these patterns or by the table.
    /// Values too short to be one are left: `1` is in everything.
    ///
    /// Patterns that are no regular expressions are passed over; policies are checked before.
    pub fn new<'a>(
        values: impl IntoIterator<Item = &'a str>,
        patterns: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let mut values: Vec<_> =
            values.into_iter().filter(|value| value.len() >= SHORTEST).collect();
        values.sort_by_key(|value| (Reverse(value.len()), *value));
        values.dedup();
        let mut forms = Vec::new();
        for value in &values {
            forms.push((*value).to_owned());
            // As JSON has it, where that differs.
            let quoted = serde_json::Value::from(*value).to_string();
            let quoted = &quoted[1..quoted.len() - 1];
            if quoted != *value {
                forms.push(quoted.to_owned());
            }
        }
        let written: Vec<_> = forms.iter().map(|form| regex::escape(form)).collect();
        let own: Vec<_> = patterns
            .into_iter()
            .filter(|pattern| pattern_problem(pattern).is_none())
            .map(|pattern| format!("(?:{pattern})"))
            .collect();
        let (values, own) = (compiled(&written.join("|")), compiled(&own.join("|")));
        Self { values, forms: forms.into(), own }
    }

    /// A text without its secrets.
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if !self.may_find(text.as_bytes()) {
            return Cow::Borrowed(text);
        }
        let mut clean = Vec::with_capacity(text.len());
        let mut stream = self.stream();
        stream.push(text.as_bytes(), &mut |bytes| clean.extend_from_slice(bytes));
        stream.finish(&mut |bytes| clean.extend_from_slice(bytes));
        // What is taken out and put in are whole letters.
        Cow::Owned(String::from_utf8_lossy(&clean).into_owned())
    }

    /// For bytes that come in pieces.
    pub fn stream(&self) -> Stream {
        Stream::new(self.clone())
    }

    /// Quick, and never wrong when it says no.
    fn may_find(&self, bytes: &[u8]) -> bool {
        MARK.is_match(bytes)
            || self.values.as_ref().is_some_and(|values| values.is_match(bytes))
            || self.own.as_ref().is_some_and(|own| own.is_match(bytes))
    }

    /// What is to be looked for in these bytes and in every part of them.
    fn known(bytes: &[u8]) -> &'static Regex {
        // Addresses are in many texts, and looking for tokens as well takes longer.
        if TOKEN_MARK.is_match(bytes) { &TOKEN_OR_ADDRESS } else { &ADDRESS }
    }

    /// Where the first secret begins and ends. What came before decides whether a word begins here.
    fn find(&self, bytes: &[u8], before: Option<u8>, known: &Regex) -> Option<(usize, usize)> {
        let values = self.values.iter().filter_map(|values| values.find(bytes));
        let own = self.own.iter().filter_map(|own| own.find(bytes));
        let named = values.chain(own).filter(|found| !found.is_empty());
        let named = named.map(|found| (found.start(), found.end()));
        let is_inside = |byte: Option<&u8>| {
            byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
        };
        let from = usize::from(is_inside(before.as_ref()) && is_inside(bytes.first()));
        let known = known.captures_at(bytes, from).and_then(|found| Known::new(bytes, &found));
        let first = named
            .chain(known.iter().map(|known| known.secret))
            .min_by_key(|(start, end)| (*start, Reverse(*end)))?;
        // What reaches into a URL takes its password along: of the rest alone nobody could tell that it
        // is one.
        match known {
            Some(known) if known.begins < first.1 => Some((first.0, first.1.max(known.secret.1))),
            _ => Some(first),
        }
    }

    /// How many of the last bytes are the beginning of a value, at most.
    fn begun(&self, bytes: &[u8]) -> usize {
        self.forms.iter().map(|form| overlap(bytes, form.as_bytes())).max().unwrap_or(0)
    }

    /// Whether a secret that looks like one may have begun in this word.
    fn may_begin(&self, word: &[u8]) -> bool {
        self.own.is_some()
            || MARK.is_match(word)
            || marks().any(|mark| overlap(word, mark.as_bytes()) > 0)
    }
}

/// What looks like a secret.
struct Known {
    /// Where that begins by which it is known: a URL, a scheme, an escape.
    begins: usize,
    /// Only the part that is secret: a URL keeps its host.
    secret: (usize, usize),
}

impl Known {
    fn new(bytes: &[u8], found: &Captures<'_>) -> Option<Self> {
        let secret = found.iter().skip(1).flatten().next()?;
        let begins = found.get(0)?.start();
        // A token may stand where a URL has its user.
        let user = TOKEN.captures_at(&bytes[..secret.start()], begins);
        let user = user.and_then(|user| user.iter().skip(1).flatten().next());
        let start = user.map_or(secret.start(), |user| user.start());
        Some(Self { begins, secret: (start, secret.end()) })
    }
}

/// Why a pattern of a policy can't be used.
pub fn pattern_problem(pattern: &str) -> Option<String> {
    match TextRegex::new(pattern) {
        Err(error) => Some(error.to_string()),
        Ok(regex) if regex.is_match("") => Some("it matches everything".to_owned()),
        Ok(_) if pattern.len() > LONGEST_PATTERN => {
            Some(format!("it is longer than {LONGEST_PATTERN} bytes"))
        }
        Ok(_) => None,
    }
}

/// Whether a variable of this name holds a secret, by what such variables are called.
pub fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    SECRET_NAMES.iter().any(|ending| name.ends_with(ending))
}

fn compiled(pattern: &str) -> Option<Regex> {
    if pattern.is_empty() {
        return None;
    }
    // Bounded, so that nobody's list of values takes the memory; without a match there is no secret
    // by this way, and the table still holds.
    RegexBuilder::new(pattern).size_limit(MOST_MEMORY).build().ok()
}

static MARK: LazyLock<Regex> = LazyLock::new(|| any_of(marks()));
static TOKEN_MARK: LazyLock<Regex> = LazyLock::new(|| any_of(TOKEN_MARKS.into_iter()));
static ADDRESS: LazyLock<Regex> = LazyLock::new(|| known_regex(URL));
static TOKEN: LazyLock<Regex> = LazyLock::new(|| known_regex(&token()));
static TOKEN_OR_ADDRESS: LazyLock<Regex> =
    LazyLock::new(|| known_regex(&format!("{}|{URL}", token())));

fn marks() -> impl Iterator<Item = &'static str> {
    TOKEN_MARKS.into_iter().chain(OTHER_MARKS)
}

fn any_of<'a>(texts: impl Iterator<Item = &'a str>) -> Regex {
    known_regex(&texts.map(regex::escape).collect::<Vec<_>>().join("|"))
}

fn token() -> String {
    format!("(?:{MAY_PRECEDE})(?:({})|{AUTHORIZATION})", TOKENS.join("|"))
}

fn known_regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the table is tested")
}

/// What stands where a secret was.
pub const REDACTED: &str = "[redacted]";
/// Shorter ones are words.
const SHORTEST: usize = 8;
const LONGEST_PATTERN: usize = 1_000;
const MOST_MEMORY: usize = 4 << 20;

const SECRET_NAMES: &[&str] = &[
    "_TOKEN",
    "_KEY",
    "_SECRET",
    "_PASSWORD",
    "_PASSWD",
    "_PASSPHRASE",
    "_CREDENTIALS",
    "PASSWORD",
    "TOKEN",
    "SECRET",
];

#[cfg(test)]
mod tests;
