//! Reviews in JSON.

use backstop_core::event::ReviewOutcome;
use serde_json::{Map, Value as Json};

use super::{Said, verdict};

/// The review that a text is, where it is JSON: the whole of it, its last line, or one block.
pub(super) fn read(text: &str) -> Option<Said> {
    let text = text.trim();
    let block = text.strip_prefix("```json").and_then(|rest| rest.trim_end().strip_suffix("```"));
    let last_line = text.lines().next_back().unwrap_or_default();
    [Some(text), block, Some(last_line)]
        .into_iter()
        .flatten()
        .filter(|text| text.trim_start().starts_with('{'))
        .find_map(|text| of_object(&serde_json::from_str(text.trim()).ok()?))
}

fn of_object(object: &Map<String, Json>) -> Option<Said> {
    let Some(outcome) = named(object) else {
        // Agents wrap what they say.
        let wrapped = ENVELOPES.iter().find_map(|key| object.get(*key));
        return match wrapped? {
            Json::String(text) if !text.trim_start().starts_with('{') => super::read_text(text),
            Json::String(text) => {
                let inner = serde_json::from_str::<Map<String, Json>>(text.trim()).ok()?;
                said(named(&inner)?, &inner)
            }
            Json::Object(inner) => said(named(inner)?, inner),
            _ => None,
        };
    };
    said(outcome, object)
}

fn named(object: &Map<String, Json>) -> Option<ReviewOutcome> {
    let name = OUTCOMES.iter().find_map(|key| object.get(*key)?.as_str())?;
    verdict::named(name)
}

#[expect(clippy::unnecessary_wraps, reason = "it ends chains of options")]
fn said(outcome: ReviewOutcome, object: &Map<String, Json>) -> Option<Said> {
    let listed = REQUESTS.iter().find_map(|key| object.get(*key));
    let requests = match listed {
        Some(Json::Array(items)) => items.iter().filter_map(request).collect(),
        Some(Json::String(text)) => vec![text.clone()],
        _ => Vec::new(),
    };
    Some(Said::new(outcome, requests))
}

/// One request: a text, or an object with one and perhaps a place.
fn request(item: &Json) -> Option<String> {
    match item {
        Json::String(text) => Some(text.clone()),
        Json::Object(fields) => {
            let text = TEXTS.iter().find_map(|key| fields.get(*key)?.as_str())?;
            let file = ["file", "path"].iter().find_map(|key| fields.get(*key)?.as_str());
            Some(match file {
                Some(file) => format!("{file}: {text}"),
                None => text.to_owned(),
            })
        }
        _ => None,
    }
}

const OUTCOMES: [&str; 4] = ["outcome", "verdict", "decision", "status"];
const REQUESTS: [&str; 5] = ["requests", "changes", "comments", "issues", "findings"];
const TEXTS: [&str; 6] = ["request", "text", "message", "body", "comment", "description"];
const ENVELOPES: [&str; 3] = ["review", "result", "response"];
