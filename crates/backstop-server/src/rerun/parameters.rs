//! The parameters of a stop decision, each read strictly: what was misunderstood would be a limit
//! that does not hold.

use axum::http::{HeaderMap, StatusCode};
use backstop_core::facts::FailureFacts;
use backstop_core::time::Timestamp;

use super::question::{Question, Repository, SignalSource};
use crate::headers::REQUEST_ID;
use crate::problem::Problem;

/// Reads the question that a path and a query ask.
pub(super) fn question(
    pr_number: &str,
    query: &[(String, String)],
    request_id: String,
    actor: String,
) -> Result<Question, Box<Problem>> {
    let pr_number = positive("prNumber", pr_number).map_err(|why| {
        Box::new(Problem::new(StatusCode::BAD_REQUEST, "INVALID_PR_NUMBER", why).about("prNumber"))
    })?;
    let parameters = Parameters::new(query)?;
    parameters.refuse_missing()?;
    let (owner, repo) = (parameters.required("owner"), parameters.required("repo"));
    let signals = parameters.given("previousFailureSignals");
    let repository = repository(owner, repo)?;
    let run_id = parameters.read("runId", positive)?;
    Ok(Question {
        repository,
        pr_number,
        run_id,
        about: run_id.into_iter().collect(),
        request_id,
        facts: FailureFacts {
            job_attempts: parameters.read("currentJobAttempts", whole)?.unwrap_or_default(),
            total_attempts: parameters.read("totalPrAttempts", whole)?.unwrap_or_default(),
            failure_class: parameters.read("failureClass", text)?,
            failure_signals: signals.map_or_else(|| Ok(Vec::new()), failure_signals)?,
            last_changed_at: parameters.read("lastChangedAt", time)?,
            first_failure_at: parameters.read("firstFailureAt", time)?,
        },
        signals: match signals {
            Some(_) => SignalSource::Given,
            None => SignalSource::Remembered,
        },
        actor,
    })
}

/// The id that a request came with: in its query, else in its header. `Err` if the query's can't
/// be one; a header's that can't was hardly written by whoever asks, so it is as good as none.
pub(crate) fn request_id_of(
    query: Option<&str>,
    headers: &HeaderMap,
) -> Result<Option<String>, Box<Problem>> {
    match query {
        Some(text) => {
            identifier("requestId", text).map(Some).map_err(|why| invalid("requestId", why))
        }
        None => {
            let header = headers.get(REQUEST_ID).and_then(|value| value.to_str().ok());
            Ok(header.and_then(|text| identifier("x-request-id", text.trim()).ok()))
        }
    }
}

/// A text that can be echoed in a header.
pub(crate) fn identifier(name: &str, given: &str) -> Result<String, String> {
    let given = text(name, given)?;
    match given.bytes().all(|byte| byte.is_ascii_graphic()) {
        true => Ok(given),
        false => Err(format!("{name} has a blank or a character that can't stand in a header")),
    }
}

fn invalid(name: &str, why: impl Into<String>) -> Box<Problem> {
    Box::new(Problem::invalid(name, why))
}

pub(super) const NAMES: [&str; 10] = [
    "owner",
    "repo",
    "currentJobAttempts",
    "totalPrAttempts",
    "runId",
    "failureClass",
    "lastChangedAt",
    "firstFailureAt",
    "previousFailureSignals",
    "requestId",
];

const REQUIRED: usize = 4;

struct Parameters<'a>([Option<&'a str>; NAMES.len()]);

impl<'a> Parameters<'a> {
    fn new(query: &'a [(String, String)]) -> Result<Self, Box<Problem>> {
        let mut values = [None; NAMES.len()];
        for (name, value) in query {
            let Some(place) = NAMES.iter().position(|known| known == name) else {
                let name: String = name.chars().take(LONGEST_SHOWN).collect();
                let known = NAMES.join(", ");
                return Err(invalid(
                    &name,
                    format!("there is no parameter `{name}`; there are {known}"),
                ));
            };
            if values[place].replace(value.as_str()).is_some() {
                let why = format!("{name} is given more than once; give it once");
                return Err(invalid(name, why));
            }
        }
        Ok(Self(values))
    }

    fn refuse_missing(&self) -> Result<(), Box<Problem>> {
        let is_missing = |value: &Option<&str>| value.is_none_or(|text| text.trim().is_empty());
        let required = NAMES.iter().zip(&self.0).take(REQUIRED);
        let missing: Vec<&str> =
            required.filter(|(_, value)| is_missing(value)).map(|(name, _)| *name).collect();
        let Some(first) = missing.first() else { return Ok(()) };
        let why = format!("{} must be given", missing.join(", "));
        Err(Box::new(Problem::new(StatusCode::BAD_REQUEST, "MISSING_PARAMS", why).about(first)))
    }

    fn given(&self, name: &str) -> Option<&'a str> {
        NAMES.iter().position(|known| *known == name).and_then(|place| self.0[place])
    }

    fn required(&self, name: &str) -> &'a str {
        self.given(name).unwrap_or_default()
    }

    fn read<T>(
        &self,
        name: &str,
        read: fn(&str, &str) -> Result<T, String>,
    ) -> Result<Option<T>, Box<Problem>> {
        let read = self.given(name).map(|given| read(name, given)).transpose();
        read.map_err(|why| invalid(name, why))
    }
}

fn repository(owner: &str, repo: &str) -> Result<Repository, Box<Problem>> {
    let at_fault = |name, given| {
        let shown: String = str::chars(given).take(LONGEST_SHOWN).collect();
        let why = format!("{name} `{shown}` is no name on GitHub");
        invalid(name, why)
    };
    match Repository::new(owner, repo) {
        Some(repository) => Ok(repository),
        None if Repository::new(owner, "x").is_none() => Err(at_fault("owner", owner)),
        None => Err(at_fault("repo", repo)),
    }
}

fn whole(name: &str, given: &str) -> Result<u64, String> {
    number(name, given, 0)
}

fn positive(name: &str, given: &str) -> Result<u64, String> {
    number(name, given, 1)
}

/// A whole number that every JSON reader can hold.
fn number(name: &str, given: &str, least: u64) -> Result<u64, String> {
    let shown = || given.chars().take(LONGEST_SHOWN).collect::<String>();
    let is_whole = !given.is_empty() && given.bytes().all(|byte| byte.is_ascii_digit());
    if !is_whole {
        return Err(format!("{name} `{}` must be a whole number of at least {least}", shown()));
    }
    match given.parse() {
        Ok(number) if number < least => Err(format!("{name} must be at least {least}")),
        Ok(number) if number <= LARGEST => Ok(number),
        _ => Err(format!("{name} `{}` is larger than {LARGEST}", shown())),
    }
}

fn text(name: &str, given: &str) -> Result<String, String> {
    if given.trim().is_empty() {
        return Err(format!("{name} is blank; leave it out or say something"));
    }
    if given.contains('\0') {
        return Err(format!("{name} has a NUL character in it"));
    }
    match given.chars().count() <= LONGEST_TEXT {
        true => Ok(given.to_owned()),
        false => Err(format!("{name} is longer than {LONGEST_TEXT} characters")),
    }
}

/// A time as RFC 3339 writes it, and no other way.
fn time(name: &str, given: &str) -> Result<Timestamp, String> {
    let shown: String = given.chars().take(LONGEST_SHOWN).collect();
    let has_its_shape = is_rfc3339(given);
    if let Some(time) = Some(given).filter(|_| has_its_shape).and_then(|given| given.parse().ok()) {
        return Ok(time);
    }
    if has_its_shape && given >= END_OF_TIME {
        return Err(format!("{name} `{shown}` is out of range: it must be before {END_OF_TIME}"));
    }
    // A `+` that was not escaped has become a blank.
    let advice = match given.trim().contains(' ') {
        true => "write the `+` of an offset as %2B",
        false => "write it like 2026-05-04T10:00:00Z",
    };
    Err(format!("{name} `{shown}` is not a time of RFC 3339; {advice}"))
}

/// Whether a text has the shape `2026-05-04T10:00:00.5+02:00`. What its numbers mean is for others.
fn is_rfc3339(text: &str) -> bool {
    let fits = |text: &[u8], shape: &[u8]| {
        text.len() == shape.len()
            && text.iter().zip(shape).all(|(byte, wanted)| match wanted {
                b'0' => byte.is_ascii_digit(),
                wanted => byte.eq_ignore_ascii_case(wanted),
            })
    };
    let Some((start, mut rest)) = text.as_bytes().split_at_checked(DATE_AND_TIME.len()) else {
        return false;
    };
    if let Some(fraction) = rest.strip_prefix(b".") {
        let digits = fraction.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if digits == 0 || digits > 9 {
            return false;
        }
        rest = &fraction[digits..];
    }
    let offsets: [&[u8]; 3] = [b"Z", b"+00:00", b"-00:00"];
    fits(start, DATE_AND_TIME) && offsets.iter().any(|offset| fits(rest, offset))
}

/// From this day on the time can't be told in every zone.
const END_OF_TIME: &str = "9999-12-30";
const DATE_AND_TIME: &[u8] = b"0000-00-00T00:00:00";

fn failure_signals(given: &str) -> Result<Vec<String>, Box<Problem>> {
    let refuse = |why: String| Err(invalid("previousFailureSignals", why));
    let signals: Vec<&str> =
        given.split(',').map(str::trim).filter(|signal| !signal.is_empty()).collect();
    if signals.len() > MOST_SIGNALS {
        return refuse(format!("previousFailureSignals has more than {MOST_SIGNALS} entries"));
    }
    if signals.iter().any(|signal| signal.chars().count() > LONGEST_TEXT) {
        return refuse(format!(
            "an entry of previousFailureSignals is longer than {LONGEST_TEXT} characters"
        ));
    }
    if given.contains('\0') {
        return refuse("previousFailureSignals has a NUL character in it".to_owned());
    }
    Ok(signals.into_iter().map(str::to_owned).collect())
}

/// The largest whole number that a double holds without doubt.
const LARGEST: u64 = (1 << 53) - 1;
const LONGEST_TEXT: usize = 256;
const LONGEST_SHOWN: usize = 64;
const MOST_SIGNALS: usize = 256;
