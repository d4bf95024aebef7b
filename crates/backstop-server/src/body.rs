//! What stands in the body of a request.

use axum::body::{Bytes, HttpBody};
use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, StatusCode, header};
use http_body_util::BodyExt as _;
use serde::de::DeserializeOwned;

use crate::problem::Problem;

/// A body of JSON.
#[derive(Debug)]
pub(crate) struct Json<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let Whole { headers, bytes } = Whole::from_request(request, state).await?;
        check_json(&headers, &bytes)?;
        read_object(&bytes).map(Self)
    }
}

/// A body of JSON that may be left out.
#[derive(Debug)]
pub(crate) struct OptionalJson<T>(pub(crate) T);

impl<T: DeserializeOwned + Default, S: Send + Sync> FromRequest<S> for OptionalJson<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let Whole { headers, bytes } = Whole::from_request(request, state).await?;
        if bytes.is_empty() {
            return Ok(Self(T::default()));
        }
        check_json(&headers, &bytes)?;
        read_object(&bytes).map(Self)
    }
}

/// A body as it came, with what was said of it: the guard has read it already, and it is no longer
/// than it may be.
#[derive(Debug)]
pub(crate) struct Whole {
    pub(crate) headers: HeaderMap,
    pub(crate) bytes: Bytes,
}

impl<S: Send + Sync> FromRequest<S> for Whole {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        let (parts, body) = request.into_parts();
        let unreadable = |error| Problem::unreadable(format!("the body can't be read: {error}"));
        let bytes = all_of(body).await.map_err(unreadable)?;
        Ok(Self { headers: parts.headers, bytes })
    }
}

/// The bytes of a body. Most come in one piece, which is taken as it is.
pub(crate) async fn all_of<B>(mut body: B) -> Result<Bytes, B::Error>
where
    B: HttpBody<Data = Bytes> + Unpin,
{
    let Some(first) = body.frame().await.transpose()? else { return Ok(Bytes::new()) };
    let first = first.into_data().unwrap_or_default();
    if body.is_end_stream() {
        return Ok(first);
    }
    let rest = body.collect().await?.to_bytes();
    Ok(if rest.is_empty() { first } else { [first, rest].concat().into() })
}

/// Reads an object. In a list, which would be taken too, the fields would have no names.
pub(crate) fn read_object<'de, T: serde::Deserialize<'de>>(bytes: &'de [u8]) -> Result<T, Problem> {
    if bytes.trim_ascii_start().first() != Some(&b'{') {
        return Err(Problem::unreadable("the body must be a JSON object"));
    }
    serde_json::from_slice(bytes).map_err(|error| {
        let problem = Problem::unreadable(format!("the body can't be taken: {error}"));
        match wrong_field::<T>(bytes) {
            Some(field) => problem.about(&field),
            None => problem,
        }
    })
}

/// Which field of a body can't be taken. It is read once more for it, by a reader that knows where it
/// is: what can be taken need not wait for that one.
fn wrong_field<'de, T: serde::Deserialize<'de>>(bytes: &'de [u8]) -> Option<String> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let error = serde_path_to_error::deserialize::<_, T>(&mut reader).err()?;
    let place = error.path().to_string();
    let words = error.inner().to_string();
    // These are said of what is around them.
    let named = ["missing field `", "unknown field `"].into_iter();
    let named = named.filter_map(|words_before| words.strip_prefix(words_before)).next();
    let around = place.trim_end_matches(['.', '?']);
    match named.and_then(|rest| rest.split('`').next()) {
        Some(name) if around.is_empty() || around == name => Some(name.to_owned()),
        Some(name) if around.ends_with(&format!(".{name}")) => Some(around.to_owned()),
        Some(name) => Some(format!("{around}.{name}")),
        None => Some(around.to_owned()).filter(|place| !place.is_empty()),
    }
}

/// Refuses what does not say that it is JSON, which a form of another page can't, and what is
/// nested deeper than anybody needs.
pub(crate) fn check_json(headers: &HeaderMap, bytes: &[u8]) -> Result<(), Problem> {
    if !is_of_type(headers, "application/json") {
        return Err(Problem::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "UNSUPPORTED_TYPE",
            "the body must be JSON: `Content-Type: application/json`",
        ));
    }
    check_depth(bytes)
}

/// Whether the body says that it is this, whatever its parameters.
pub(crate) fn is_of_type(headers: &HeaderMap, kind: &str) -> bool {
    let given = headers.get(header::CONTENT_TYPE).and_then(|given| given.to_str().ok());
    given.is_some_and(|given| is_media_type(given, kind))
}

/// Whether the client takes this: it names it, and does not say that it wants anything but.
pub(crate) fn is_accepted(headers: &HeaderMap, kind: &str) -> bool {
    let lists = headers.get_all(header::ACCEPT).iter().filter_map(|list| list.to_str().ok());
    lists.flat_map(|list| list.split(',')).any(|given| {
        let mut parameters = given.split(';').skip(1).filter_map(|one| one.split_once('='));
        let is_unwanted = |(name, value): (&str, &str)| {
            name.trim().eq_ignore_ascii_case("q") && value.trim().parse() == Ok(0.0)
        };
        is_media_type(given, kind) && !parameters.any(is_unwanted)
    })
}

/// Names of media types are the same in any case.
fn is_media_type(given: &str, kind: &str) -> bool {
    given.split(';').next().is_some_and(|name| name.trim().eq_ignore_ascii_case(kind))
}

/// Refuses JSON that is nested too deep. Text that is no JSON may pass; who reads it will say so.
pub(crate) fn check_depth(bytes: &[u8]) -> Result<(), Problem> {
    // What has few brackets can't be deep, and most have few.
    if memchr::memchr2_iter(b'{', b'[', bytes).count() <= DEEPEST {
        return Ok(());
    }
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for byte in bytes {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => {
                depth += 1;
                if depth > DEEPEST {
                    return Err(Problem::unreadable(format!(
                        "the body is nested deeper than {DEEPEST} levels"
                    )));
                }
            }
            b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    Ok(())
}

const DEEPEST: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_counts_brackets_outside_of_strings() {
        let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert!(check_depth(nested(64).as_bytes()).is_ok());
        assert!(check_depth(nested(65).as_bytes()).is_err());
        let quoted = format!(r#"{{"a\"":"{}"}}"#, "[".repeat(500));
        assert!(check_depth(quoted.as_bytes()).is_ok());
        assert!(check_depth(nested(3).repeat(100).as_bytes()).is_ok());
    }
}
