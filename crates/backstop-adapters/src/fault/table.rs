//! The texts that agents print when something failed.

use super::FaultKind;
use super::FaultKind::{
    Authentication, BudgetLimit, ContextFull, Credits, InvalidRequest, Loop, Machine, Network,
    OutputLimit, Overloaded, RateLimited, Server, SpendCap, TurnLimit, UnknownModel,
};

/// The kind of the first entry that the text has all the words of. The text is in lower case, with
/// plain quotes and one kind of middle dot.
pub(super) fn kind_of(text: &str) -> Option<FaultKind> {
    let entry = TEXTS.iter().find(|(words, _)| match words {
        [first, rest @ ..] => says(text, first) && rest.iter().all(|word| text.contains(word)),
        [] => false,
    });
    entry.map(|(_, kind)| *kind)
}

/// Whether the text says this itself, and not as the name of a file.
fn says(text: &str, words: &str) -> bool {
    text.match_indices(words).any(|(at, _)| {
        let folder = text[..at].rsplit(char::is_whitespace).next().unwrap_or_default();
        !folder.contains(['/', '\\']) && !ends_a_file_name(&text[at + words.len()..])
    })
}

/// Whether this, after a word, makes a file's name of it: `.md`, `_table.rs`.
fn ends_a_file_name(after: &str) -> bool {
    let rest = after.trim_start_matches(|c: char| c.is_alphanumeric() || matches!(c, '_' | '-'));
    let Some(extension) = rest.strip_prefix('.') else { return false };
    let length = extension.find(|c: char| !c.is_alphanumeric()).unwrap_or(extension.len());
    // Versions have points in them, too.
    (1..=4).contains(&length) && extension.starts_with(char::is_alphabetic)
}

/// The specific stands before the general: a refusal for want of money is also a bad request, and a
/// throttle that says that it is no usage limit names one.
const TEXTS: &[(&[&str], FaultKind)] = &[
    // The machine.
    (&["no space left on device"], Machine),
    (&["enospc"], Machine),
    (&["disk quota exceeded"], Machine),
    (&["out of memory"], Machine),
    (&["cannot allocate memory"], Machine),
    // Money.
    (&["spend limit"], SpendCap),
    (&["spend cap"], SpendCap),
    (&["spending limit"], SpendCap),
    (&["spending cap"], SpendCap),
    (&["budgetexceedederror"], SpendCap),
    (&["credit balance"], Credits),
    (&["out of credits"], Credits),
    (&["insufficient credits"], Credits),
    (&["insufficient balance"], Credits),
    (&["insufficient_quota"], Credits),
    (&["credits_required"], Credits),
    (&["payment required"], Credits),
    (&["billing_error"], Credits),
    // Gemini sends the same sentence for a spent minute and names the way out of it.
    (&["resource_exhausted"], RateLimited),
    (&["check your plan and billing details", "retry in"], RateLimited),
    (&["check your plan and billing details", "rate-limits"], RateLimited),
    (&["check your plan and billing details"], Credits),
    // Limits per minute that sound like a full context.
    (&["tokens per min"], RateLimited),
    (&["requests per min"], RateLimited),
    (&["rate limit of", "input tokens per minute"], RateLimited),
    // The context.
    (&["prompt is too long"], ContextFull),
    (&["input is too long"], ContextFull),
    (&["context limit reached"], ContextFull),
    (&["exceed context limit"], ContextFull),
    (&["context_length_exceeded"], ContextFull),
    (&["contextwindowexceeded"], ContextFull),
    (&["context_window_exceeded"], ContextFull),
    (&["maximum context length"], ContextFull),
    (&["context window", "exceed"], ContextFull),
    (&["context window", "out of room"], ContextFull),
    (&["context window", "full"], ContextFull),
    (&["input token count", "exceeds"], ContextFull),
    (&["conversation is too long"], ContextFull),
    (&["request_too_large"], ContextFull),
    (&["request too large"], ContextFull),
    // The agent's own caps.
    (&["output token maximum"], OutputLimit),
    (&["output token limit"], OutputLimit),
    (&["max_output_tokens"], OutputLimit),
    (&["maximum session turns"], TurnLimit),
    (&["max session turns"], TurnLimit),
    (&["max turns"], TurnLimit),
    (&["maximum number of turns"], TurnLimit),
    (&["turn limit"], TurnLimit),
    (&["token budget exhausted"], BudgetLimit),
    (&["session budget"], BudgetLimit),
    (&["maximum budget"], BudgetLimit),
    (&["max budget"], BudgetLimit),
    (&["loop detected"], Loop),
    (&["potential loop"], Loop),
    // The service's limits.
    (&["not your usage limit"], Overloaded),
    (&["temporarily limiting requests"], Overloaded),
    (&["usage limit"], RateLimited),
    (&["-hour limit"], RateLimited),
    (&["session limit"], RateLimited),
    (&["weekly limit"], RateLimited),
    (&["daily limit"], RateLimited),
    (&["opus limit"], RateLimited),
    (&["sonnet limit"], RateLimited),
    (&["hit your", "limit"], RateLimited),
    (&["reached your", "limit"], RateLimited),
    (&["limit reached", "reset"], RateLimited),
    (&["out of extra usage"], RateLimited),
    (&["request rejected (429)"], RateLimited),
    (&["too many requests"], RateLimited),
    (&["rate limit"], RateLimited),
    (&["rate_limit"], RateLimited),
    (&["ratelimit"], RateLimited),
    (&["rate-limit"], RateLimited),
    (&["quota exceeded"], RateLimited),
    (&["exceeded your", "quota"], RateLimited),
    (&["exhausted your", "quota"], RateLimited),
    (&["overloaded"], Overloaded),
    (&["at capacity"], Overloaded),
    (&["request queue", "full"], Overloaded),
    (&["high demand"], Overloaded),
    (&["slow_down"], Overloaded),
    (&["service unavailable"], Overloaded),
    (&["serviceunavailable"], Overloaded),
    // Who asks, and for what.
    (&["model_not_found"], UnknownModel),
    (&["modelnotfound"], UnknownModel),
    (&["model not found"], UnknownModel),
    (&["unknown model"], UnknownModel),
    (&["no such model"], UnknownModel),
    (&["issue with the selected model"], UnknownModel),
    (&["model", "does not exist"], UnknownModel),
    (&["model", "is not supported when using"], UnknownModel),
    (&["not a valid model"], UnknownModel),
    (&["models/", "is not found"], UnknownModel),
    (&["litellm.notfounderror"], UnknownModel),
    (&["llm provider not provided"], UnknownModel),
    (&["invalid api key"], Authentication),
    (&["incorrect api key"], Authentication),
    (&["invalid x-api-key"], Authentication),
    (&["api key not valid"], Authentication),
    (&["api key", "not found"], Authentication),
    (&["api key", "missing"], Authentication),
    (&["api_key", "must be set"], Authentication),
    (&["not logged in"], Authentication),
    (&["run /login"], Authentication),
    (&["oauth token"], Authentication),
    (&["oauth_org_not_allowed"], Authentication),
    (&["access token could not be refreshed"], Authentication),
    (&["organization has been disabled"], Authentication),
    (&["organization has disabled"], Authentication),
    (&["authentication"], Authentication),
    (&["unauthorized"], Authentication),
    (&["unauthenticated"], Authentication),
    (&["permission_error"], Authentication),
    (&["permissiondeniederror"], Authentication),
    // The way to the service.
    (&["timed out"], Network),
    (&["timeout"], Network),
    (&["etimedout"], Network),
    (&["econnreset"], Network),
    (&["econnrefused"], Network),
    (&["enotfound"], Network),
    (&["eai_again"], Network),
    (&["socket hang up"], Network),
    (&["fetch failed"], Network),
    (&["network error"], Network),
    (&["unable to connect"], Network),
    (&["could not resolve host"], Network),
    (&["error sending request"], Network),
    (&["premature close"], Network),
    (&["stream disconnected"], Network),
    (&["stalled mid-stream"], Network),
    (&["apiconnectionerror"], Network),
    (&["connection", "closed"], Network),
    (&["connection", "reset"], Network),
    (&["connection", "refused"], Network),
    (&["connection", "aborted"], Network),
    (&["connection", "lost"], Network),
    (&["connection error"], Network),
    (&["connection failed"], Network),
    // The service.
    (&["internal server error"], Server),
    (&["internalservererror"], Server),
    (&["internal_server_error"], Server),
    (&["bad gateway"], Server),
    (&["server_error"], Server),
    (&["server had an error"], Server),
    (&["error occurred while processing your request"], Server),
    (&["api_error"], Server),
    (&["litellm.apierror"], Server),
    // The request.
    (&["invalid_request"], InvalidRequest),
    (&["invalid request"], InvalidRequest),
    (&["bad request"], InvalidRequest),
    (&["badrequest"], InvalidRequest),
    (&["unprocessable"], InvalidRequest),
    (&["contentpolicyviolation"], InvalidRequest),
    (&["unsupportedparams"], InvalidRequest),
    (&["violate", "usage policy"], InvalidRequest),
];
