//! What stands in the address of a request. Anything that no parameter is called is refused.

use std::fmt::Display;
use std::str::FromStr;

use axum::extract::{FromRequestParts, Path};
use axum::http::Uri;
use axum::http::request::Parts;

use crate::problem::Problem;
use crate::route::MOST_REPEATED;

/// The parameters after the question mark.
#[derive(Debug)]
pub(crate) struct Query {
    pairs: Vec<(String, String)>,
}

impl<S: Sync> FromRequestParts<S> for Query {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let pairs = pairs(&parts.uri)?;
        if let Some((name, _)) = pairs.iter().find(|(_, value)| value.contains('\0')) {
            return Err(Problem::invalid(name, format!("`{name}` has a NUL character in it")));
        }
        Ok(Self { pairs })
    }
}

impl Query {
    /// Every value of a parameter that may be there several times, though not any number of times.
    pub(crate) fn many(&mut self, name: &str) -> Result<Vec<String>, Problem> {
        let values = self.all(name);
        if values.len() > MOST_REPEATED {
            let detail = format!("`{name}` can be there {MOST_REPEATED} times at most");
            return Err(Problem::invalid(name, detail));
        }
        Ok(values)
    }

    fn all(&mut self, name: &str) -> Vec<String> {
        let (own, rest) =
            std::mem::take(&mut self.pairs).into_iter().partition(|(key, _)| key == name);
        self.pairs = rest;
        let own: Vec<(String, String)> = own;
        own.into_iter().map(|(_, value)| value).collect()
    }

    /// The value of a parameter that may be there once.
    pub(crate) fn one(&mut self, name: &str) -> Result<Option<String>, Problem> {
        let mut values = self.all(name).into_iter();
        let value = values.next();
        match values.next() {
            Some(_) => Err(Problem::invalid(name, format!("`{name}` can be there only once"))),
            None => Ok(value),
        }
    }

    /// The same as a text that is as long as the document says.
    pub(crate) fn text(&mut self, name: &str, most: usize) -> Result<Option<String>, Problem> {
        let text = self.one(name)?;
        match text.as_deref().map(|text| text.chars().count()) {
            Some(length) if !(1..=most).contains(&length) => {
                let detail = format!("`{name}` must have from 1 to {most} characters");
                Err(Problem::invalid(name, detail))
            }
            _ => Ok(text),
        }
    }

    /// The same, read as something.
    pub(crate) fn parsed<T: FromStr>(&mut self, name: &str) -> Result<Option<T>, Problem>
    where
        T::Err: Display,
    {
        let read = |text: String| {
            text.parse().map_err(|error| {
                Problem::invalid(name, format!("`{name}` can't be `{text}`: {error}"))
            })
        };
        self.one(name)?.map(read).transpose()
    }

    /// The same as a whole number that every client can write.
    pub(crate) fn whole(&mut self, name: &str) -> Result<Option<u64>, Problem> {
        let number = self.parsed::<u64>(name)?;
        if number.is_some_and(|number| number > LARGEST) {
            return Err(Problem::invalid(name, format!("`{name}` can be {LARGEST} at most")));
        }
        Ok(number)
    }

    /// How many things are wanted.
    pub(crate) fn limit(&mut self, usual: u32, most: u32) -> Result<u32, Problem> {
        let limit = self.parsed::<u32>("limit")?.unwrap_or(usual);
        if limit == 0 || limit > most {
            let detail = format!("`limit` can be from 1 to {most}, not {limit}");
            return Err(Problem::invalid("limit", detail));
        }
        Ok(limit)
    }

    /// Refuses what nobody has asked for.
    pub(crate) fn end(self) -> Result<(), Problem> {
        match self.pairs.first() {
            None => Ok(()),
            Some((name, _)) => {
                Err(Problem::invalid(name, format!("there is no parameter `{name}`")))
            }
        }
    }
}

/// The names and values after the question mark. Bytes that are no text are refused: with a sign in
/// place of each, different ones would become the same.
pub(crate) fn pairs(uri: &Uri) -> Result<Vec<(String, String)>, Problem> {
    let query = uri.query().unwrap_or_default();
    for pair in query.split('&').filter(|pair| pair.contains('%')) {
        if String::from_utf8(unescaped(pair)).is_err() {
            let (name, _) = pair.split_once('=').unwrap_or((pair, ""));
            let name = String::from_utf8_lossy(&unescaped(name)).into_owned();
            return Err(Problem::invalid(&name, format!("`{name}` is not UTF-8")));
        }
    }
    Ok(form_urlencoded::parse(query.as_bytes()).into_owned().collect())
}

/// The bytes that a part of a query stands for.
fn unescaped(part: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digit = |at: usize| after.get(at).and_then(|byte| char::from(*byte).to_digit(16));
        let escaped = digit(0).zip(digit(1)).filter(|_| *first == b'%');
        let escaped = escaped.and_then(|(high, low)| u8::try_from(high * 16 + low).ok());
        bytes.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { &after[2..] } else { after };
    }
    bytes
}

/// The part of the path that names something.
#[derive(Debug)]
pub(crate) struct Name(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for Name {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Path(name) = Path::<String>::from_request_parts(parts, state)
            .await
            .map_err(|error| Problem::unreadable(format!("the path can't be read: {error}")))?;
        if name.contains('\0') {
            return Err(Problem::unreadable("the path has a NUL character in it"));
        }
        Ok(Self(name))
    }
}

/// What a number of JavaScript can hold.
const LARGEST: u64 = (1 << 53) - 1;
