//! Points in time as the core sees them: values that came from outside.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A point of wall-clock time, in nanoseconds since 1970.
///
/// Times before 1678 and after 2262 are held at those borders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    pub const fn from_nanos(nanoseconds: i64) -> Self {
        Self(nanoseconds)
    }

    pub const fn as_nanos(self) -> i64 {
        self.0
    }

    /// How long after `earlier` this is; zero if it is not after it.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0).max(0).unsigned_abs())
    }

    #[must_use]
    pub fn plus(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(nanos_i64(duration)))
    }

    #[must_use]
    pub fn minus(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(nanos_i64(duration)))
    }

    /// The same instant as `jiff` writes it, for calendars and zones.
    pub fn to_jiff(self) -> jiff::Timestamp {
        jiff::Timestamp::from_nanosecond(i128::from(self.0))
            .expect("every i64 of nanoseconds lies between the years 1678 and 2262")
    }

    pub fn from_jiff(timestamp: jiff::Timestamp) -> Self {
        let nanoseconds = timestamp.as_nanosecond();
        Self(i64::try_from(nanoseconds).unwrap_or(if nanoseconds < 0 {
            i64::MIN
        } else {
            i64::MAX
        }))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_jiff().fmt(formatter)
    }
}

impl FromStr for Timestamp {
    type Err = TimestampError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.trim()
            .parse::<jiff::Timestamp>()
            .map(Self::from_jiff)
            .map_err(|_| TimestampError { text: text.to_owned() })
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl serde::de::Visitor<'_> for Text {
            type Value = Timestamp;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a time such as \"2026-05-04T10:00:00Z\"")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Timestamp, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Text)
    }
}

/// A text that is not a time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a time; write it like `2026-05-04T10:00:00Z`")]
pub struct TimestampError {
    text: String,
}

/// When something is asked or happens: the wall clock, and the run's active time so far.
///
/// Active time is awake time without holds, pauses, open questions and waits for a rate limit.
/// Both are needed, since `max_duration` reads the one and `cooldown` the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    pub at: Timestamp,
    pub active: Duration,
}

/// The next times at which an answer may change by itself, each on its own clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wake {
    pub at: Option<Timestamp>,
    pub active: Option<Duration>,
}

impl Wake {
    pub const NEVER: Self = Self { at: None, active: None };

    pub const fn at(at: Timestamp) -> Self {
        Self { at: Some(at), active: None }
    }

    pub const fn active(active: Duration) -> Self {
        Self { at: None, active: Some(active) }
    }

    /// The earlier of the two on each clock.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self { at: earlier(self.at, other.at), active: earlier(self.active, other.active) }
    }

    /// Drops what lies in the past: it has had its effect already.
    #[must_use]
    pub fn after(self, now: Moment) -> Self {
        Self {
            at: self.at.filter(|at| *at > now.at),
            active: self.active.filter(|active| *active > now.active),
        }
    }
}

/// A duration as people read it: `52m 10s`.
pub fn in_words(duration: Duration) -> String {
    crate::condition::words::duration(duration).to_string()
}

/// Milliseconds of a duration, held at the largest number.
pub fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn earlier<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

fn nanos_i64(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timestamp_reads_what_it_writes() {
        let at: Timestamp = "2026-05-04T10:00:00.000000001Z".parse().unwrap();
        assert_eq!(at.to_string(), "2026-05-04T10:00:00.000000001Z");
        assert_eq!(at.as_nanos() % 1_000, 1);
    }

    #[test]
    fn offsets_are_understood() {
        let with_offset: Timestamp = "2026-05-04T12:00:00+02:00".parse().unwrap();
        assert_eq!(with_offset, "2026-05-04T10:00:00Z".parse().unwrap());
    }

    #[test]
    fn far_times_are_held_at_the_border() {
        assert_eq!("9000-01-01T00:00:00Z".parse(), Ok(Timestamp::from_nanos(i64::MAX)));
        assert_eq!("0001-01-01T00:00:00Z".parse(), Ok(Timestamp::from_nanos(i64::MIN)));
        let border = Timestamp::from_nanos(i64::MAX);
        assert_eq!(border.plus(Duration::MAX), border);
        assert_eq!(Timestamp::from_nanos(i64::MIN).since(border), Duration::ZERO);
    }

    #[test]
    fn a_text_that_is_no_time_is_named() {
        let error = "yesterday".parse::<Timestamp>().unwrap_err();
        assert!(error.to_string().starts_with("`yesterday` is not a time"), "{error}");
    }
}
