//! What a session cost, from figures that were rounded.
//!
//! aider tells the cost of each message and of the session so far, both to two digits. Neither is
//! enough alone: in `$0.0059 message, $0.01 session` the message is the finer one, but a hundred
//! messages of `$0.04` may be half a dollar off, where the session is never off by more than half a
//! cent. So messages are added up as long as that is the finer figure, and the sum is held inside of
//! what the session figure allows.

use super::report::{Cost, Figure};

/// The cost of the session so far.
#[derive(Debug, Default)]
pub(super) struct SessionCost {
    sum: f64,
    /// How far the true sum may be from it.
    doubt: f64,
}

impl SessionCost {
    /// What the message added.
    pub fn add(&mut self, cost: Cost) -> f64 {
        let message = cost.message;
        let Some(session) = cost.session else { return message.value };
        let before = self.sum;
        let grown = Figure { value: before + message.value, doubt: self.doubt + message.doubt };
        let (now, before) = if agree(grown, session) {
            (finer(grown, session), before)
        } else if agree(message, session) || session.value < before {
            // The session began again: that happens whenever its model is set up anew.
            (finer(message, session), 0.0)
        } else {
            // Something was spent that no message told of.
            (session, before)
        };
        // What was told once is not taken back.
        (self.sum, self.doubt) = (now.value.max(before), now.doubt);
        self.sum - before
    }
}

/// What is known of the session by both figures.
fn finer(added_up: Figure, session: Figure) -> Figure {
    if added_up.doubt <= ALIKE * session.doubt {
        Figure { value: within(added_up.value, session), ..added_up }
    } else {
        session
    }
}

fn agree(one: Figure, other: Figure) -> bool {
    (one.value - other.value).abs() <= ALIKE * (one.doubt + other.doubt)
}

fn within(value: f64, figure: Figure) -> f64 {
    value.clamp((figure.value - figure.doubt).max(0.0), figure.value + figure.doubt)
}

/// A tenth more than the doubt, for the rounding of the doubt itself.
const ALIKE: f64 = 1.1;

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::aider::report::Report;

    fn total(costs: &[(&str, &str)]) -> f64 {
        let mut session = SessionCost::default();
        let report = |(message, total): &(&str, &str)| {
            let line =
                format!("Tokens: 1 sent, 1 received. Cost: ${message} message, ${total} session.");
            session.add(Report::parse(&line).unwrap().cost.unwrap())
        };
        costs.iter().map(report).sum()
    }

    #[rstest]
    #[case::messages_are_finer_than_the_session(
        &[("0.0065", "0.0065"), ("0.0059", "0.01"), ("0.0062", "0.02"), ("0.0066", "0.03")],
        0.0252, 0.000_001
    )]
    #[case::a_smaller_session_is_a_new_one(&[("0.10", "0.10"), ("0.0023", "0.0023")], 0.1023, 0.000_001)]
    #[case::so_is_one_that_is_the_message_alone(&[("0.0023", "0.0023"), ("0.0025", "0.0025")], 0.0048, 0.000_001)]
    #[case::what_messages_leave_open_the_session_tells(
        &[("0.03", "0.26"), ("0.02", "0.29"), ("0.02", "0.31"), ("0.03", "0.34")], 0.34, 0.000_001
    )]
    #[case::what_was_missed_is_made_up_for(&[("0.10", "0.10"), ("0.10", "0.50")], 0.5, 0.000_001)]
    fn messages_and_session_are_read_together(
        #[case] costs: &[(&str, &str)],
        #[case] expected: f64,
        #[case] tolerance: f64,
    ) {
        let total = total(costs);
        assert!((total - expected).abs() < tolerance, "{total}");
    }

    #[test]
    fn many_roundings_do_not_add_up() {
        // Each message cost $0.0449 and says $0.04; a hundred of them cost $4.49.
        let costs: Vec<(String, String)> = (1..=100)
            .map(|count| ("0.04".to_owned(), format!("{:.2}", 0.0449 * f64::from(count))))
            .collect();
        let costs: Vec<(&str, &str)> =
            costs.iter().map(|(message, session)| (message.as_str(), session.as_str())).collect();
        assert!((total(&costs) - 4.49).abs() <= 0.005_001, "{}", total(&costs));
    }
}
