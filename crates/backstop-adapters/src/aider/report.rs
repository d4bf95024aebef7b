//! What aider says that a message used, in its three wordings.

use std::sync::LazyLock;

use regex::Regex;

use crate::lenient::{AMOUNTS, COUNTS};

/// The figures of one message.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Report {
    pub sent: u64,
    pub received: u64,
    pub cache_write: u64,
    pub cache_hit: u64,
    pub cost: Option<Cost>,
}

/// What one message cost, and the session with it. The oldest wording has no session.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cost {
    pub message: Figure,
    pub session: Option<Figure>,
}

/// A sum of money that was rounded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Figure {
    pub value: f64,
    /// How far the true sum may be from it.
    pub doubt: f64,
}

impl Report {
    pub fn parse(line: &str) -> Option<Self> {
        let found = WORDINGS.iter().find_map(|wording| wording.captures(line.trim()))?;
        let count = |name| found.name(name).map(|figure| number(figure.as_str()));
        let figure = |name| found.name(name).and_then(|figure| Figure::parse(figure.as_str()));
        Some(Self {
            sent: count("sent")??,
            received: count("received")??,
            cache_write: count("write").flatten().unwrap_or(0),
            cache_hit: count("hit").flatten().unwrap_or(0),
            cost: figure("message").map(|message| Cost { message, session: figure("session") }),
        })
    }
}

impl Figure {
    fn parse(text: &str) -> Option<Self> {
        let text = text.trim_end_matches('.').replace(',', "");
        let decimals = text.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        let value: f64 = text.parse().ok().filter(|value| AMOUNTS.contains(value))?;
        Some(Self { value, doubt: 0.5 * 0.1_f64.powi(i32::try_from(decimals).ok()?) })
    }
}

/// A count as aider writes it: `587`, `10,332`, `1.4k`, `12k`.
pub(super) fn number(text: &str) -> Option<u64> {
    let text = text.replace(',', "");
    let (digits, thousands) = match text.strip_suffix(['k', 'K']) {
        Some(digits) => (digits, 1000.0),
        None => match text.strip_suffix('M') {
            Some(digits) => (digits, 1_000_000.0),
            None => (&*text, 1.0),
        },
    };
    let value = (digits.parse::<f64>().ok()? * thousands).round();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the range is checked, and the value was rounded"
    )]
    COUNTS.contains(&value).then_some(value as u64)
}

static WORDINGS: LazyLock<[Regex; 2]> = LazyLock::new(|| {
    [
        r"^Tokens: (?<sent>[\d.,]+[kKM]?) sent(?:, (?<write>[\d.,]+[kKM]?) cache write)?(?:, (?<hit>[\d.,]+[kKM]?) cache(?: hit|d))?, (?<received>[\d.,]+[kKM]?) received\.(?: *Cost: \$(?<message>[\d.,]+) (?:message|request), \$(?<session>[\d.,]+) session\..*)?$",
        r"^(?<sent>[\d,]+) prompt tokens, (?<received>[\d,]+) completion tokens(?:, \$(?<message>[\d.,]+) cost)?\.?$",
    ]
    .map(|pattern| Regex::new(pattern).expect("the pattern is valid"))
});

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("34115 prompt tokens, 101 completion tokens, $0.172090 cost", (34115, 101, 0, 0), Some((0.17209, None)))]
    #[case("Tokens: 5,244 sent, 604 received. Cost: $0.02 request, $0.02 session.", (5244, 604, 0, 0), Some((0.02, Some(0.02))))]
    #[case(
        "Tokens: 2.4k sent, 1.2k cache write, 8.0k cache hit, 91 received. Cost: $0.0085 message, $0.0085 session.",
        (2400, 91, 1200, 8000),
        Some((0.0085, Some(0.0085)))
    )]
    #[case("Tokens: 12k sent, 8.0k cache hit, 1.0k received. Cost: $1,234.50 message, $1,234.50 session.", (12000, 1000, 0, 8000), Some((1234.5, Some(1234.5))))]
    #[case("Tokens: 12k sent, 587 received.", (12000, 587, 0, 0), None)]
    fn every_wording_is_read(
        #[case] line: &str,
        #[case] tokens: (u64, u64, u64, u64),
        #[case] cost: Option<(f64, Option<f64>)>,
    ) {
        let report = Report::parse(line).unwrap();
        let read = (report.sent, report.received, report.cache_write, report.cache_hit);
        assert_eq!(read, tokens);
        let read =
            report.cost.map(|cost| (cost.message.value, cost.session.map(|session| session.value)));
        assert_eq!(read, cost);
    }

    #[rstest]
    #[case("Tokens: many sent, few received.")]
    #[case("Tokens: 1.2.3k sent, 5 received.")]
    #[case("I used Tokens: 5 sent, 5 received.")]
    fn anything_else_is_no_report(#[case] line: &str) {
        assert_eq!(Report::parse(line), None);
    }
}
