//! Takes secrets out of what is about to be written.
//!
//! A secret is the value of a variable that was named, or what looks like one: a token with a known
//! beginning, a private key, a password in a URL. What a person sees on their own terminal is not
//! touched; what is kept or sent is.

mod known;
mod stream;

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use regex::Regex as TextRegex;
use regex::bytes::{Regex, RegexBuilder};

pub use stream::Stream;

use known::{MARKS, PATTERNS};
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
        values.sort_by_key(|value| (std::cmp::Reverse(value.len()), *value));
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

    /// Where the first secret begins and ends. What came before decides whether a word begins here.
    fn find(&self, bytes: &[u8], before: Option<u8>) -> Option<(usize, usize)> {
        let values = self.values.iter().filter_map(|values| values.find(bytes));
        let own = self.own.iter().filter_map(|own| own.find(bytes));
        let named = values.chain(own).filter(|found| !found.is_empty());
        let named = named.map(|found| (found.start(), found.end()));
        let is_inside = |byte: Option<&u8>| {
            byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
        };
        let from = usize::from(is_inside(before.as_ref()) && is_inside(bytes.first()));
        let known = MARK.find(bytes).and_then(|_| KNOWN.captures_at(bytes, from));
        let known = known.and_then(|found| {
            // Only the part that is secret, where a pattern says which: a URL keeps its host.
            let secret = found.iter().skip(1).flatten().next().or_else(|| found.get(0))?;
            Some((secret.start(), secret.end()))
        });
        named.chain(known).min_by_key(|(start, end)| (*start, std::cmp::Reverse(*end)))
    }

    /// How many of the last bytes are the beginning of a value, at most.
    fn begun(&self, bytes: &[u8]) -> usize {
        self.forms.iter().map(|form| overlap(bytes, form.as_bytes())).max().unwrap_or(0)
    }

    /// Whether a secret that looks like one may have begun in this word.
    fn may_begin(&self, word: &[u8]) -> bool {
        self.own.is_some()
            || MARK.is_match(word)
            || MARKS.iter().any(|mark| overlap(word, mark.as_bytes()) > 0)
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

static MARK: LazyLock<Regex> = LazyLock::new(|| known_regex(&MARKS.map(regex::escape).join("|")));
static KNOWN: LazyLock<Regex> = LazyLock::new(|| known_regex(&PATTERNS.join("|")));

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
