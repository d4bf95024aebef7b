//! From JSON to an event, in one pass where `type` comes first.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error as _, IntoDeserializer, MapAccess, Visitor};

use super::{Event, EventKind};
use crate::diagnostic::nearest;
use crate::time::Timestamp;

/// Why a line is not an event.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct DecodeError {
    message: String,
    /// Line and byte of it, from 1, at which it was noticed.
    pub line: usize,
    pub column: usize,
}

impl DecodeError {
    /// Reads JSON, with refusals worded for those who wrote it.
    pub(crate) fn decode<'de, T: Deserialize<'de>>(text: &'de [u8]) -> Result<T, Self> {
        // Read again only where something is wrong, since following the path takes time.
        serde_json::from_slice(text).map_err(|error| Self::new(&error, field_of::<T>(text)))
    }

    fn new(error: &serde_json::Error, field: Option<String>) -> Self {
        let text = error.to_string();
        let message = match text.rsplit_once(" at line ") {
            Some((message, _)) if error.is_eof() => format!("the text is cut off: {message}"),
            Some((message, _)) => message.to_owned(),
            None => text,
        };
        let message = in_plain_words(with_nearest_field(message));
        Self {
            message: match field {
                Some(field) if message.starts_with("invalid") => format!("`{field}`: {message}"),
                _ => message,
            },
            line: error.line().max(1),
            column: error.column().max(1),
        }
    }
}

/// The field whose value is wrong, as a path.
fn field_of<'de, T: Deserialize<'de>>(text: &'de [u8]) -> Option<String> {
    let mut json = serde_json::Deserializer::from_slice(text);
    let error = serde_path_to_error::deserialize::<_, T>(&mut json).err()?;
    let path = error.path().to_string();
    (path != "." && path != "?").then_some(path)
}

pub(super) fn unknown_type(name: &str) -> String {
    match nearest(name, EventKind::TYPE_NAMES.iter().copied()) {
        Some(near) => format!("unknown event type `{name}`; did you mean `{near}`?"),
        None => {
            format!("unknown event type `{name}`; the types are listed in docs/reference/events.md")
        }
    }
}

impl<'de> Deserialize<'de> for Event {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(EventVisitor)
    }
}

struct EventVisitor;

impl<'de> Visitor<'de> for EventVisitor {
    type Value = Event;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an event such as {\"type\": \"iteration_started\", \"iteration\": 1}")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Event, A::Error> {
        let mut envelope = Envelope::default();
        match map.next_key::<Key<'de>>()? {
            Some(Key(key)) if key == "type" => {
                let Key(name) = map.next_value()?;
                let kind =
                    EventKind::deserialize_fields(&name, Payload { map, envelope: &mut envelope })?;
                Ok(envelope.enclose(kind))
            }
            first => visit_buffered(first, map),
        }
    }
}

/// The slow way, for objects whose `type` is not their first key.
fn visit_buffered<'de, A: MapAccess<'de>>(
    first: Option<Key<'de>>,
    mut map: A,
) -> Result<Event, A::Error> {
    let mut fields = serde_json::Map::new();
    let mut next = first;
    while let Some(Key(key)) = next {
        if fields.insert(key.clone().into_owned(), map.next_value()?).is_some() {
            return Err(A::Error::custom(format_args!("duplicate field `{key}`")));
        }
        next = map.next_key()?;
    }
    let name = match fields.remove("type") {
        Some(serde_json::Value::String(name)) => name,
        Some(_) => return Err(A::Error::custom("`type` must be a string")),
        None => return Err(A::Error::missing_field("type")),
    };
    let mut envelope = Envelope::default();
    let map = serde::de::value::MapDeserializer::new(fields.into_iter());
    EventKind::deserialize_fields(&name, Payload { map, envelope: &mut envelope })
        .map(|kind| envelope.enclose(kind))
        .map_err(A::Error::custom)
}

/// The fields that every event may carry.
#[derive(Default)]
struct Envelope {
    seq: Option<u64>,
    at: Option<Timestamp>,
    active_ms: Option<u64>,
}

impl Envelope {
    fn enclose(self, kind: EventKind) -> Event {
        Event { kind, seq: self.seq, at: self.at, active_ms: self.active_ms }
    }
}

/// Hands a payload its own fields and keeps the envelope's.
struct Payload<'a, A> {
    map: A,
    envelope: &'a mut Envelope,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Payload<'_, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, A::Error> {
        while let Some(Key(key)) = self.map.next_key()? {
            match &*key {
                "type" => return Err(A::Error::duplicate_field("type")),
                "seq" => self.envelope.seq = self.map.next_value::<number::OptionalCount>()?.0,
                "at" => self.envelope.at = self.map.next_value()?,
                "active_ms" => {
                    self.envelope.active_ms = self.map.next_value::<number::OptionalCount>()?.0;
                }
                _ => return seed.deserialize(key.into_deserializer()).map(Some),
            }
        }
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.map.next_value_seed(seed)
    }
}

/// A key, borrowed from the input where it has no escapes.
struct Key<'de>(Cow<'de, str>);

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeyVisitor;
        impl<'de> Visitor<'de> for KeyVisitor {
            type Value = Key<'de>;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a string")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(KeyVisitor)
    }
}

/// Adds the nearest name to serde's list of expected ones.
fn with_nearest_field(message: String) -> String {
    let mut quoted = message.split('`').skip(1).step_by(2);
    if !(message.starts_with("unknown field") || message.starts_with("unknown variant")) {
        return message;
    }
    let Some(name) = quoted.next() else { return message };
    match nearest(name, quoted) {
        Some(near) => {
            let unknown = message.split(',').next().unwrap_or(&message);
            format!("{unknown}; did you mean `{near}`?")
        }
        None => message,
    }
}

/// The decoder's own names of kinds say nothing to those who write JSON.
fn in_plain_words(message: String) -> String {
    let words = [
        ("unknown variant", "unknown value"),
        ("expected i32", "expected a whole number"),
        ("expected f64", "expected a number"),
        ("invalid type: sequence", "invalid type: list"),
        ("expected a sequence", "expected a list"),
        ("invalid type: map", "invalid type: object"),
        ("expected a map", "expected an object"),
        ("floating point `", "number `"),
    ];
    if !["unknown variant", "invalid "].iter().any(|lead| message.starts_with(lead)) {
        return message;
    }
    let message = words
        .iter()
        .fold(message, |message, (technical, plain)| message.replacen(technical, plain, 1));
    match message.split_once("expected struct ") {
        Some((lead, _)) => format!("{lead}expected an object"),
        None => message,
    }
}

/// Numbers as reporters send them: too large ones are held at the largest that fits.
pub(crate) mod number {
    use std::collections::BTreeMap;
    use std::fmt;
    use std::time::Duration;

    use serde::de::{Deserializer, Error, Unexpected, Visitor};
    use serde::{Deserialize, Serialize, Serializer};

    use crate::event::LimitValue;

    pub(crate) fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        Count::deserialize(deserializer).map(|count| count.0)
    }

    pub(crate) fn optional_count<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<u64>, D::Error> {
        OptionalCount::deserialize(deserializer).map(|count| count.0)
    }

    /// Money: finite and not negative.
    pub(crate) fn optional_amount<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<f64>, D::Error> {
        let amount = Option::<f64>::deserialize(deserializer)?;
        match amount {
            Some(amount) if !(amount >= 0.0 && amount.is_finite()) => {
                Err(D::Error::invalid_value(Unexpected::Float(amount), &"an amount of at least 0"))
            }
            amount => Ok(amount),
        }
    }

    pub(crate) fn optional_share<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<f64>, D::Error> {
        struct Share(f64);
        impl<'de> Deserialize<'de> for Share {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                share(deserializer).map(Share)
            }
        }
        Option::<Share>::deserialize(deserializer).map(|given| given.map(|share| share.0))
    }

    /// An exit code, or the number of a signal: one that is too large, as some systems have, is held at
    /// the largest.
    pub(crate) fn optional_code<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<i32>, D::Error> {
        Option::<Code>::deserialize(deserializer).map(|code| code.map(|code| code.0))
    }

    struct Code(i32);

    impl<'de> Deserialize<'de> for Code {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            deserializer.deserialize_i64(CodeVisitor).map(Code)
        }
    }

    struct CodeVisitor;

    impl Visitor<'_> for CodeVisitor {
        type Value = i32;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("a whole number")
        }

        fn visit_u64<E>(self, number: u64) -> Result<i32, E> {
            Ok(i32::try_from(number).unwrap_or(i32::MAX))
        }

        fn visit_i64<E>(self, number: i64) -> Result<i32, E> {
            Ok(i32::try_from(number).unwrap_or(if number < 0 { i32::MIN } else { i32::MAX }))
        }

        #[expect(
            clippy::cast_possible_truncation,
            reason = "the cast holds a number that is too large at the largest, which is what is wanted"
        )]
        fn visit_f64<E: Error>(self, number: f64) -> Result<i32, E> {
            if number.fract() == 0.0 {
                Ok(number as i32)
            } else {
                Err(E::invalid_value(Unexpected::Float(number), &self))
            }
        }
    }

    pub(crate) fn shares<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<BTreeMap<String, f64>, D::Error> {
        let shares = BTreeMap::<String, f64>::deserialize(deserializer)?;
        match shares.values().find(|share| !(0.0..=1.0).contains(*share)) {
            Some(share) => {
                Err(D::Error::invalid_value(Unexpected::Float(*share), &"a number from 0 to 1"))
            }
            None => Ok(shares),
        }
    }

    /// A part of a whole.
    pub(crate) fn share<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        let share = f64::deserialize(deserializer)?;
        if (0.0..=1.0).contains(&share) {
            Ok(share)
        } else {
            Err(D::Error::invalid_value(Unexpected::Float(share), &"a number from 0 to 1"))
        }
    }

    struct Count(u64);

    impl<'de> Deserialize<'de> for Count {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            deserializer.deserialize_u64(CountVisitor).map(Count)
        }
    }

    pub(super) struct OptionalCount(pub(super) Option<u64>);

    impl<'de> Deserialize<'de> for OptionalCount {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            Option::<Count>::deserialize(deserializer).map(|count| Self(count.map(|count| count.0)))
        }
    }

    struct CountVisitor;

    impl Visitor<'_> for CountVisitor {
        type Value = u64;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("a whole number of at least 0")
        }

        fn visit_unit<E>(self) -> Result<u64, E> {
            Ok(0)
        }

        fn visit_u64<E>(self, number: u64) -> Result<u64, E> {
            Ok(number)
        }

        fn visit_i64<E: Error>(self, number: i64) -> Result<u64, E> {
            u64::try_from(number).map_err(|_| E::invalid_value(Unexpected::Signed(number), &self))
        }

        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the cast holds a number that is too large at the largest, which is what is wanted"
        )]
        fn visit_f64<E: Error>(self, number: f64) -> Result<u64, E> {
            if number >= 0.0 && number.fract() == 0.0 {
                Ok(number as u64)
            } else {
                Err(E::invalid_value(Unexpected::Float(number), &self))
            }
        }
    }

    impl Serialize for LimitValue {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            match self {
                Self::Number(number) => serializer.serialize_f64(*number),
                Self::Duration(duration) => {
                    serializer.collect_str(&humantime::format_duration(*duration))
                }
            }
        }
    }

    impl<'de> Deserialize<'de> for LimitValue {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            struct ValueVisitor;
            impl Visitor<'_> for ValueVisitor {
                type Value = LimitValue;
                fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                    formatter.write_str("a number of at least 0, or a duration such as \"2h 30m\"")
                }
                fn visit_f64<E: Error>(self, number: f64) -> Result<LimitValue, E> {
                    if number >= 0.0 && number.is_finite() {
                        Ok(LimitValue::Number(number))
                    } else {
                        Err(E::invalid_value(Unexpected::Float(number), &self))
                    }
                }
                #[expect(clippy::cast_precision_loss, reason = "limits are far below 2^53")]
                fn visit_u64<E: Error>(self, number: u64) -> Result<LimitValue, E> {
                    Ok(LimitValue::Number(number as f64))
                }
                fn visit_i64<E: Error>(self, number: i64) -> Result<LimitValue, E> {
                    Err(E::invalid_value(Unexpected::Signed(number), &self))
                }
                fn visit_str<E: Error>(self, text: &str) -> Result<LimitValue, E> {
                    duration(text)
                        .map(LimitValue::Duration)
                        .ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
                }
            }
            deserializer.deserialize_any(ValueVisitor)
        }
    }

    fn duration(text: &str) -> Option<Duration> {
        humantime::parse_duration(text).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Unit, UnitStatus, Usage};

    fn refusal(line: &str) -> String {
        Event::from_json(line.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn the_envelope_may_stand_anywhere() {
        let kind = EventKind::Usage(Usage { input_tokens: 7, ..Usage::default() });
        let at = "2026-05-04T10:00:00Z".parse().unwrap();
        for line in [
            r#"{"type":"usage","at":"2026-05-04T10:00:00Z","seq":3,"active_ms":12,"input_tokens":7}"#,
            r#"{"at":"2026-05-04T10:00:00Z","input_tokens":7,"seq":3,"active_ms":12,"type":"usage"}"#,
            r#"{"type":"usage","input_tokens":7,"active_ms":12,"seq":3,"at":"2026-05-04T10:00:00Z"}"#,
        ] {
            let event = Event::from_json(line.as_bytes()).unwrap();
            let expected =
                Event { kind: kind.clone(), seq: Some(3), at: Some(at), active_ms: Some(12) };
            assert_eq!(event, expected, "{line}");
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let unit = Unit {
            id: "f3".into(),
            index: Some(3),
            status: UnitStatus::Rejected,
            attempts: Some(2),
        };
        let event = Event::new(unit).at("2026-05-04T10:00:00Z".parse().unwrap()).active_ms(5);
        let line = event.to_json();
        assert!(line.starts_with(r#"{"type":"unit","id":"f3""#), "{line}");
        assert_eq!(Event::from_json(line.as_bytes()), Ok(event));
    }

    #[test]
    fn numbers_that_overflow_saturate() {
        let line =
            br#"{"type":"usage","input_tokens":99999999999999999999999,"output_tokens":3e0}"#;
        let Event { kind: EventKind::Usage(usage), .. } = Event::from_json(line).unwrap() else {
            panic!("not a usage event");
        };
        assert_eq!((usage.input_tokens, usage.output_tokens), (u64::MAX, 3));
    }

    #[test]
    fn refusals_name_the_place_and_the_nearest_name() {
        for (line, expected) in [
            (r#"{"type":"usag"}"#, "unknown event type `usag`; did you mean `usage`?"),
            (
                r#"{"type":"usage","input_token":1}"#,
                "unknown field `input_token`; did you mean `input_tokens`?",
            ),
            (r#"{"input_tokens":1}"#, "missing field `type`"),
            (
                r#"{"type":"usage","input_tokens":-1}"#,
                "`input_tokens`: invalid value: integer `-1`, expected a whole number of at least 0",
            ),
            (
                r#"{"type":"usage","cost_usd":-0.5}"#,
                "`cost_usd`: invalid value: number `-0.5`, expected an amount of at least 0",
            ),
            (
                r#"{"type":"unit","id":"a","status":"aproved"}"#,
                "unknown value `aproved`; did you mean `approved`?",
            ),
            (
                r#"{"type":"drift","score":1.5}"#,
                "`score`: invalid value: number `1.5`, expected a number from 0 to 1",
            ),
            (r#"{"type":"iteration_started""#, "the text is cut off: EOF while parsing an object"),
            (
                r#"[]"#,
                "invalid type: list, expected an event such as {\"type\": \"iteration_started\", \"iteration\": 1}",
            ),
            (
                r#"{"type":"usage","at":"yesterday"}"#,
                "`yesterday` is not a time; write it like `2026-05-04T10:00:00Z`",
            ),
        ] {
            assert_eq!(refusal(line), expected, "{line}");
        }
    }
}
