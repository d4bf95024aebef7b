//! What the words with which runs end mean.
//!
//! Only terminal records are read: what tools printed quotes such words all the time.

use crate::{Fault, FaultKind};

/// A failure by the status or the exception that a harness wrote at the end. All three harnesses
/// call models through the same library, so that the names of its exceptions are theirs too.
pub(super) fn fault(words: &str) -> Fault {
    let lower = words.to_lowercase();
    let found = KINDS.iter().find(|(word, _)| lower.contains(word));
    Fault::new(found.map_or(FaultKind::Other, |(_, kind)| *kind), words)
}

/// The first that occurs decides.
const KINDS: [(&str, FaultKind); 33] = [
    ("exit_context", FaultKind::ContextFull),
    ("contextwindow", FaultKind::ContextFull),
    ("context window", FaultKind::ContextFull),
    ("context_window", FaultKind::ContextFull),
    ("exit_cost", FaultKind::BudgetLimit),
    ("costlimit", FaultKind::BudgetLimit),
    ("cost limit", FaultKind::BudgetLimit),
    ("max_budget_per_task", FaultKind::BudgetLimit),
    ("maximum budget", FaultKind::BudgetLimit),
    ("budget exceeded", FaultKind::BudgetLimit),
    ("stuckinloop", FaultKind::Loop),
    ("stuck in a loop", FaultKind::Loop),
    ("maximum iteration", FaultKind::TurnLimit),
    ("maxiteration", FaultKind::TurnLimit),
    ("max_iterations", FaultKind::TurnLimit),
    ("call limit", FaultKind::TurnLimit),
    ("step limit", FaultKind::TurnLimit),
    ("limitsexceeded", FaultKind::TurnLimit),
    ("ratelimit", FaultKind::RateLimited),
    ("rate limit", FaultKind::RateLimited),
    ("rate_limit", FaultKind::RateLimited),
    ("overloaded", FaultKind::Overloaded),
    ("serviceunavailable", FaultKind::Overloaded),
    ("internalservererror", FaultKind::Server),
    ("badgateway", FaultKind::Server),
    ("apiconnection", FaultKind::Network),
    ("apitimeout", FaultKind::Network),
    ("litellm.timeout", FaultKind::Network),
    ("authentication", FaultKind::Authentication),
    ("insufficient_quota", FaultKind::Credits),
    ("outofcredits", FaultKind::Credits),
    ("notfounderror", FaultKind::UnknownModel),
    ("badrequest", FaultKind::InvalidRequest),
];

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("exit_cost", FaultKind::BudgetLimit)]
    #[case("submitted (exit_cost)", FaultKind::BudgetLimit)]
    #[case("submitted (exit_context)", FaultKind::ContextFull)]
    #[case("exit_format", FaultKind::Other)]
    #[case("LimitsExceeded", FaultKind::TurnLimit)]
    #[case("ContextWindowExceededError", FaultKind::ContextFull)]
    #[case("litellm.BadRequestError: ContextWindowExceededError", FaultKind::ContextFull)]
    #[case("RuntimeError: Agent reached maximum iteration in headless mode", FaultKind::TurnLimit)]
    #[case("AgentStuckInLoopError: Agent got stuck in a loop", FaultKind::Loop)]
    #[case("litellm.RateLimitError: slow down", FaultKind::RateLimited)]
    #[case("AuthenticationError", FaultKind::Authentication)]
    #[case("agent_timeout", FaultKind::Other)]
    fn kinds(#[case] words: &str, #[case] kind: FaultKind) {
        assert_eq!(fault(words), Fault::new(kind, words));
    }
}
