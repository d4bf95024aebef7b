//! An event from words of the command line: `unit --id f3 --status rejected`.

use backstop_core::diagnostic::nearest;
use backstop_core::event::{EventKind, Field, Shape, fields};
use clap::ValueEnum as _;
use serde_json::{Map, Value as Json};

use super::Told;
use crate::args::PrintForm;
use crate::error::Error;

/// What the words say.
pub enum Said {
    /// An event as JSON.
    Event(String),
    /// The fields of a type.
    Help(String),
}

/// Reads the words after `emit`'s own flags. Flags of `emit` may also stand among the fields.
pub fn read(words: &[String], told: &mut Told) -> Result<Said, Error> {
    let Some((type_name, rest)) = words.split_first() else {
        return Err(Error::Usage(
            "what happened?\n\nhint: `backstop emit TYPE --field value`, or --json".to_owned(),
        ));
    };
    if type_name.starts_with('-') {
        return Err(Error::Usage(format!(
            "`{type_name}` stands before the event's type\n\n\
             hint: `backstop emit TYPE --field value`, such as `backstop emit unit --id f3`"
        )));
    }
    let Some(known) = fields(type_name) else {
        return Err(bad(match nearest(type_name, EventKind::TYPE_NAMES.iter().copied()) {
            Some(near) => format!("unknown event type `{type_name}`; did you mean `{near}`?"),
            None => format!("unknown event type `{type_name}`"),
        }));
    };
    let mut event = Map::new();
    event.insert("type".to_owned(), type_name.as_str().into());
    let mut rest = rest.iter();
    while let Some(word) = rest.next() {
        let Some(flag) = word.strip_prefix("--").filter(|flag| !flag.is_empty()) else {
            if word == "-h" {
                return Ok(Said::Help(help(type_name, &known)));
            }
            return Err(Error::Usage(format!(
                "`{word}` has no field's name before it\n\nhint: write it like `--id {word}`"
            )));
        };
        let (name, given) = match flag.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (flag, None),
        };
        match name {
            "help" => return Ok(Said::Help(help(type_name, &known))),
            "break" => {
                told.break_when_complete = true;
                continue;
            }
            _ => {}
        }
        let value = match given {
            Some(value) => value,
            None => rest
                .next()
                .ok_or_else(|| Error::Usage(format!("`--{name}` needs a value")))?
                .as_str(),
        };
        match name {
            "run" => told.run = Some(value.to_owned()),
            "store" => {
                told.store.store = Some(value.to_owned());
                told.given.add_store();
            }
            "server" => told.given.add_server(value),
            "print" => {
                told.print = PrintForm::from_str(value, true).map_err(|_| {
                    Error::Usage(format!("`--print` is `text` or `json`, not `{value}`"))
                })?;
            }
            _ => add(&mut event, name, value, &known)?,
        }
    }
    Ok(Said::Event(Json::Object(event).to_string()))
}

fn add(
    event: &mut Map<String, Json>,
    name: &str,
    text: &str,
    known: &[Field],
) -> Result<(), Error> {
    let name = name.replace('-', "_");
    let field = known.iter().find(|field| field.name == name);
    if field.is_none() && !ENVELOPE.contains(&name.as_str()) {
        let names = known.iter().map(|field| field.name).chain(ENVELOPE);
        return Err(bad(match nearest(&name, names) {
            Some(near) => format!("unknown field `{name}`; did you mean `{near}`?"),
            None => {
                let all: Vec<_> = known.iter().map(|field| format!("`{}`", field.name)).collect();
                format!("unknown field `{name}`; there are {}", all.join(", "))
            }
        }));
    }
    let value = value(field, text);
    match event.get_mut(&name) {
        None => {
            event.insert(name, value);
        }
        Some(before) => match (before, value) {
            (Json::Array(list), Json::Array(more)) => list.extend(more),
            (Json::Object(map), Json::Object(more)) => map.extend(more),
            _ => return Err(bad(format!("`{name}` is given more than once"))),
        },
    }
    Ok(())
}

/// The words in the type that the field has. What does not fit is left to the decoder, which says
/// what it wants.
fn value(field: Option<&Field>, text: &str) -> Json {
    let as_json = || serde_json::from_str(text).unwrap_or_else(|_| text.into());
    match field {
        Some(field) if field.value.is_text() => text.into(),
        Some(field) if field.value == Shape::Texts && !text.starts_with('[') => text
            .split(',')
            .map(str::trim)
            .filter(|item| !item.is_empty())
            .map(Json::from)
            .collect::<Vec<_>>()
            .into(),
        Some(field) if field.value.is_object() && !text.starts_with('{') => pairs(text),
        // Times are text; the other fields of the envelope are numbers.
        _ => as_json(),
    }
}

/// `a=1,b=2` as an object.
fn pairs(text: &str) -> Json {
    let pair = |item: &str| {
        let (name, value) = item.split_once('=')?;
        let value = serde_json::from_str(value.trim()).unwrap_or_else(|_| value.trim().into());
        Some((name.trim().to_owned(), value))
    };
    let read: Option<Map<String, Json>> = text.split(',').map(pair).collect();
    read.map_or_else(|| text.into(), Json::Object)
}

fn help(type_name: &str, known: &[Field]) -> String {
    let widest = known.iter().map(|field| field.name.len()).max().unwrap_or(0);
    let mut text = format!("Fields of `{type_name}`:\n");
    for field in known {
        text.push_str(&format!("  --{:widest$}  {}\n", field.name, field.value));
    }
    text
}

fn bad(message: String) -> Error {
    Error::BadData { place: "the command line".to_owned(), message }
}

/// What every event may carry, and a reporter may know.
const ENVELOPE: [&str; 2] = ["at", "active_ms"];

#[cfg(test)]
mod tests {
    use super::*;

    fn said(words: &str) -> Result<Json, String> {
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        let mut told = Told {
            run: None,
            given: crate::remote::Given::default(),
            store: crate::args::StoreArguments::default(),
            print: PrintForm::Text,
            break_when_complete: false,
        };
        match read(&words, &mut told).map_err(|error| error.to_string())? {
            Said::Event(text) => Ok(serde_json::from_str(&text).unwrap()),
            Said::Help(text) => Ok(text.into()),
        }
    }

    #[test]
    fn values_take_the_type_of_their_field() {
        for (words, expected) in [
            (
                "unit --id 3 --status rejected --attempts 2",
                r#"{"type":"unit","id":"3","status":"rejected","attempts":2}"#,
            ),
            (
                "tests --passed a,b --passed c --failed=d --break",
                r#"{"type":"tests","passed":["a","b","c"],"failed":["d"]}"#,
            ),
            (
                "usage --input-tokens 5 --cost-usd 0.25 --model 4",
                r#"{"type":"usage","input_tokens":5,"cost_usd":0.25,"model":"4"}"#,
            ),
            (
                "cycle --metrics coverage=0.8,score=7",
                r#"{"type":"cycle","metrics":{"coverage":0.8,"score":7}}"#,
            ),
            (
                r#"tests --counts {"passed":3} --at 2026-05-04T10:00:00Z"#,
                r#"{"type":"tests","counts":{"passed":3},"at":"2026-05-04T10:00:00Z"}"#,
            ),
        ] {
            assert_eq!(said(words).unwrap(), serde_json::from_str::<Json>(expected).unwrap());
        }
    }

    #[test]
    fn what_is_misspelt_is_answered_with_the_nearest_name() {
        for (words, expected) in [
            ("unti --id 3", "did you mean `unit`?"),
            ("unit --idd 3", "did you mean `id`?"),
            ("unit --id 3 --id 4", "more than once"),
            ("unit 3", "no field's name before it"),
            ("unit --id", "needs a value"),
            ("--id 3 unit", "before the event's type"),
        ] {
            let error = said(words).unwrap_err();
            assert!(error.contains(expected), "{words}: {error}");
        }
    }

    #[test]
    fn a_type_tells_its_fields() {
        let help = said("unit --help").unwrap();
        assert!(help.as_str().unwrap().contains("--status"), "{help}");
    }
}
