//! The messages with which Claude Code itself says that it can't go on.
//!
//! Where they stand among other words, only their exact form tells them from an agent that speaks
//! of rate limits or authentication because that is what it works on.

use std::sync::LazyLock;

use regex::Regex;

use crate::launch::fault_of;
use crate::{Fault, Moment, recognise};

/// The fault that a line tells which is such a message, whole and from its beginning.
pub(super) fn message(line: &str, moment: &Moment) -> Option<Fault> {
    let line = line.trim();
    OWN.is_match(line).then(|| fault_of(line, moment))
}

/// The fault that the errors of a result tell. What a tool said may be among them, so a line has to
/// begin like an error of the service or of the program.
pub(super) fn of_errors(errors: &str, moment: &Moment) -> Option<Fault> {
    errors.lines().find_map(|line| {
        let told = CLASS.find(line).map_or(line, |class| &line[class.end()..]);
        if let Some(fault) = message(told, moment) {
            return Some(fault);
        }
        let own = told.len() < line.len() || SYSTEM.is_match(told) || LIMIT.is_match(told);
        if own && !FOREIGN.is_match(told) { recognise(line, moment) } else { None }
    })
}

static OWN: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r#"(?xi)^(?:
            (?:\d+-hour|session|(?:[\w-]+\ )?weekly)\ limit\ reached (?:\ [·∙]\ resets\ .{1,60})?
            | you['’]re\ out\ of\ extra\ usage (?:\ [·∙]\ resets\ .{1,60})?
            | you['’]ve\ (?:hit|reached)\ your\ (?:[\w-]+\ ){0,3}limit (?:\ [·∙]\ resets\ .{1,60})?
            | claude\ (?:ai\ )?usage\ limit\ reached (?:\|\d+|\.)?
                (?:\ your\ limit\ will\ reset\ at\ .{1,60})?
            | api\ error\ \((?:request\ timed\ out|connection\ error)\.?\) (?:\ [·∙]\ .{1,100})?
            | there['’]s\ an\ issue\ with\ the\ selected\ model\ \(.{1,100}\).{0,200}
            | spend\ limit\ reached\ \(.{1,100}\)
            | credit\ balance\ is\ too\ low (?:\ [·∙]\ .{1,100})?
            | (?:please\ run\ /login\ [·∙]\ )? api\ error (?:\ \([^)]{1,80}\))? :?\  (?:
                \d{3} (?:
                    :? \ ?$ | :?\ (?-i:[A-Z"'(\{\[<·])
                    | :?\ (?:due\ to|status\ code|no\ healthy\ upstream|upstream|\w+_error)\b
                  )
                | request\ (?:rejected\ \(\d{3}\)|timed\ out)
                | server\ is\ temporarily\ limiting\ requests
                | repeated\ \d{3}\ 
                | claude['’]s\ response\ exceeded\ the\ \d+\ output\ token\ maximum
                | (?:connection|response)\ (?:error|closed|reset|stalled)
                | fetch\ failed | unable\ to\ connect
              ) .*
            | (?:request\ timed\ out | connection\ closed\ mid-response
                | response\ stalled\ mid-stream) \.?
            | prompt\ is\ too\ long | input\ is\ too\ long\ for\ requested\ model\.?
            | context\ limit\ reached\ [·∙]\ /compact\ or\ /clear\ to\ continue
            | invalid\ api\ key (?:\ [·∙]\ .{1,100})?
            | not\ logged\ in (?:\ [·∙]\ .{1,100})?
            | oauth\ token\ (?:has\ expired|revoked) (?:\.?\ .{1,100})? \.?
        )$"#,
    )
    .expect("the pattern is valid")
});

/// How its own messages of a limit begin, however they go on: the words behind them change from one
/// version to the next.
static LIMIT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?xi)^\s*(?:
            (?:\d+-hour|session|(?:[\w-]+\ )?weekly)\ limit\ reached
            | you['’]ve\ (?:hit|reached)\ your\ (?:[\w-]+\ ){0,3}limit
            | api\ error:\ \d{3}
        ) (?:[\s.,;:·∙]|$)",
    )
    .expect("the pattern is valid")
});

/// The classes of errors that programs name first, one in another.
static CLASS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^\s*(?:\w*Error: )+").expect("the pattern is valid"));

/// The system's own names for what failed.
static SYSTEM: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^\s*E[A-Z]{3,}\b").expect("the pattern is valid"));

/// What a tool said: a command's name first, or that one failed.
static FOREIGN: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^\s*(?:[a-z][\w./-]*: |(?i:command failed|exit code|shell|tool)\b)")
        .expect("the pattern is valid")
});

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::FaultKind;
    use crate::testing::moment;

    #[rstest]
    #[case("5-hour limit reached ∙ resets 12am", FaultKind::RateLimited)]
    #[case("Session limit reached ∙ resets 3pm", FaultKind::RateLimited)]
    #[case("Weekly limit reached ∙ resets Oct 9, 2pm", FaultKind::RateLimited)]
    #[case("Opus weekly limit reached ∙ resets Oct 9, 2pm", FaultKind::RateLimited)]
    #[case(
        "Claude usage limit reached. Your limit will reset at 3pm (UTC).",
        FaultKind::RateLimited
    )]
    #[case("You're out of extra usage · resets 3pm (UTC)", FaultKind::RateLimited)]
    #[case("API Error (Request timed out.)", FaultKind::Network)]
    #[case("API Error (Connection error.)", FaultKind::Network)]
    #[case(
        "API Error (Connection error.) · Retrying in 5 seconds… (attempt 4/10)",
        FaultKind::Network
    )]
    #[case(
        "There's an issue with the selected model (claude-x). It may not exist.",
        FaultKind::UnknownModel
    )]
    #[case("You've hit your session limit · resets 3:45pm", FaultKind::RateLimited)]
    #[case("You’ve hit your limit · resets 3:45pm", FaultKind::RateLimited)]
    #[case("You've hit your Opus limit · resets 9:50pm (Asia/Saigon)", FaultKind::RateLimited)]
    #[case("Claude AI usage limit reached|1751997600", FaultKind::RateLimited)]
    #[case("spend limit reached (daily; resets 2026-08-09 00:00 UTC)", FaultKind::SpendCap)]
    #[case("Credit balance is too low", FaultKind::Credits)]
    #[case("API Error: Request rejected (429) · try later", FaultKind::RateLimited)]
    #[case(
        "API Error: Server is temporarily limiting requests (not your usage limit)",
        FaultKind::Overloaded
    )]
    #[case("API Error: Repeated 529 Overloaded errors. Try again.", FaultKind::Overloaded)]
    #[case(
        "API Error: 529 {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}",
        FaultKind::Overloaded
    )]
    #[case("API Error: 500 Internal server error", FaultKind::Server)]
    #[case("API Error: 503 no healthy upstream", FaultKind::Overloaded)]
    #[case("API Error: 502 <html><head><title>502 Bad Gateway</title></head>", FaultKind::Server)]
    #[case("API Error: 401 status code (no body)", FaultKind::Authentication)]
    #[case("API Error: 529", FaultKind::Overloaded)]
    #[case("Request timed out", FaultKind::Network)]
    #[case("API Error: Connection closed mid-response", FaultKind::Network)]
    #[case("Response stalled mid-stream", FaultKind::Network)]
    #[case(
        "API Error: Claude's response exceeded the 32000 output token maximum. To configure",
        FaultKind::OutputLimit
    )]
    #[case("Prompt is too long", FaultKind::ContextFull)]
    #[case("Context limit reached · /compact or /clear to continue", FaultKind::ContextFull)]
    #[case("Input is too long for requested model.", FaultKind::ContextFull)]
    #[case("Invalid API key · Fix external API key", FaultKind::Authentication)]
    #[case("Not logged in · Please run /login", FaultKind::Authentication)]
    #[case("OAuth token has expired", FaultKind::Authentication)]
    #[case("Please run /login · API Error: 401 {\"type\":\"error\"}", FaultKind::Authentication)]
    fn own_messages(#[case] line: &str, #[case] kind: FaultKind) {
        assert_eq!(message(line, &moment()).map(|fault| fault.kind), Some(kind));
    }

    #[rstest]
    #[case("Done: I added authentication to the login page.")]
    #[case("I added rate limit handling.")]
    #[case("The connection was closed: I fixed the timeout bug.")]
    #[case("API Error: handling is in client.rs now, with a test for the rate limit.")]
    #[case("API Error: 529 is now retried with a back-off.")]
    #[case("API Error: 429 responses wait for the time that the service names.")]
    #[case("Prompt is too long was the message, and I fixed it.")]
    #[case("Credit balance is too low for the transfer in the test, so it fails.")]
    #[case("- 5-hour limit reached ∙ resets 12am")]
    fn what_speaks_of_them_is_none(#[case] line: &str) {
        assert_eq!(message(line, &moment()), None);
    }

    #[rstest]
    #[case("Credit balance is too low", Some(FaultKind::Credits))]
    #[case("Error: API Error: 529 Overloaded", Some(FaultKind::Overloaded))]
    #[case("RateLimitError: 429 rate limit exceeded", Some(FaultKind::RateLimited))]
    #[case("Error: read ECONNRESET", Some(FaultKind::Network))]
    #[case("ENOSPC: no space left on device, write", Some(FaultKind::Machine))]
    #[case("You've hit your usage limit; retry after reset.", Some(FaultKind::RateLimited))]
    #[case("Error: You've reached your weekly limit, so wait.", Some(FaultKind::RateLimited))]
    #[case("5-hour limit reached, resets 3pm", Some(FaultKind::RateLimited))]
    #[case("API Error: 429 x", Some(FaultKind::RateLimited))]
    #[case("API Error: handling of 429 is in client.rs", None)]
    #[case("you've hit your limit() twice", None)]
    #[case("Error: Command failed: cat: docs/rate limit.md: No such file", None)]
    #[case("Error: cat: docs/rate limit.md: No such file", None)]
    #[case("Error: grep: rate limit: No such file", None)]
    #[case("the file speaks of authentication", None)]
    #[case("[ede_diagnostic] result_type=user stop_reason=null timeout", None)]
    fn errors_of_a_result(#[case] errors: &str, #[case] kind: Option<FaultKind>) {
        assert_eq!(of_errors(errors, &moment()).map(|fault| fault.kind), kind);
    }
}
