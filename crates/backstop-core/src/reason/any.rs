//! One view of every reason that a record can name: built in, a policy's own, or unknown here.

use super::{CustomReason, Family, NextStep, ReasonCode, Values, find};

/// A reason as a record names it. Old data never fails: what nobody knows any more is shown as it
/// is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnyReason<'a> {
    BuiltIn(ReasonCode),
    Custom(&'a CustomReason),
    Unknown(&'a str),
}

impl<'a> AnyReason<'a> {
    /// Looks `code` up among the built-in reasons, then among a policy's own.
    pub fn resolve(code: &'a str, custom: &'a [CustomReason]) -> Self {
        if let Some(built_in) = find(code) {
            return Self::BuiltIn(built_in);
        }
        let wanted = super::normalised(code);
        custom.iter().find(|reason| reason.code == wanted).map_or(Self::Unknown(code), Self::Custom)
    }

    pub fn code(&self) -> &'a str {
        match self {
            Self::BuiltIn(code) => code.as_str(),
            Self::Custom(reason) => &reason.code,
            Self::Unknown(code) => code,
        }
    }

    /// An unknown reason has no better title than its code.
    pub fn title(&self) -> &'a str {
        match self {
            Self::BuiltIn(code) => code.reason().title,
            Self::Custom(reason) => &reason.title,
            Self::Unknown(code) => code,
        }
    }

    /// `None` for an unknown reason: its exit code belongs to no family.
    pub fn family(&self) -> Option<Family> {
        match self {
            Self::BuiltIn(code) => Some(code.reason().family),
            Self::Custom(_) => Some(Family::Custom),
            Self::Unknown(_) => None,
        }
    }

    pub fn exit_code(&self) -> u8 {
        match self {
            Self::BuiltIn(code) => code.reason().exit_code,
            Self::Custom(reason) => reason.exit_code,
            Self::Unknown(_) => UNKNOWN_EXIT_CODE,
        }
    }

    pub fn diagnosis(&self, values: &Values) -> String {
        match self {
            Self::BuiltIn(code) => code.reason().diagnosis_with(values),
            Self::Custom(reason) => reason.diagnosis_with(values),
            Self::Unknown(code) => unknown_diagnosis(code),
        }
    }

    pub fn next_commands(&self, values: &Values) -> Vec<String> {
        match self {
            Self::BuiltIn(code) => code.reason().next_commands_with(values),
            Self::Custom(_) | Self::Unknown(_) => {
                GENERIC_COMMANDS.iter().map(|command| values.fill_command(command)).collect()
            }
        }
    }

    /// Only a person knows what somebody's own reason calls for.
    pub fn next_step(&self) -> NextStep {
        match self {
            Self::BuiltIn(code) => code.reason().next_step,
            Self::Custom(_) | Self::Unknown(_) => NextStep::ManualReview,
        }
    }

    pub fn auto_resumable(&self) -> bool {
        matches!(self, Self::BuiltIn(code) if code.reason().auto_resumable)
    }
}

fn unknown_diagnosis(code: &str) -> String {
    format!(
        "`{code}` is not a reason that this version knows. It may come from another version, or \
         from a policy that is no longer at hand. The run's record is complete all the same: \
         `backstop show` prints it, `backstop reasons` lists the codes of this version."
    )
}

const UNKNOWN_EXIT_CODE: u8 = 1;

const GENERIC_COMMANDS: &[&str] = &["backstop show {run}", "backstop doctor {run}"];

#[cfg(test)]
mod tests {
    use super::*;

    fn own() -> Vec<CustomReason> {
        vec![CustomReason {
            code: "owner_said_no".to_owned(),
            title: "The owner said no".to_owned(),
            exit_code: 61,
            diagnosis: "Spent {value}; ask the owner.".to_owned(),
        }]
    }

    #[test]
    fn built_in_by_alias() {
        let own = own();
        let reason = AnyReason::resolve("MAX-TICKS", &own);
        assert_eq!(reason, AnyReason::BuiltIn(ReasonCode::MaxIterations));
        assert_eq!(reason.code(), "max_iterations");
        assert_eq!(reason.title(), ReasonCode::MaxIterations.reason().title);
        assert_eq!(reason.family(), Some(Family::ResourceLimit));
        assert_eq!(reason.exit_code(), 125);
        assert_eq!(reason.next_step(), NextStep::ManualReview);
        assert!(!reason.auto_resumable());
        assert!(AnyReason::resolve("no_progress", &own).auto_resumable());
    }

    #[test]
    fn a_policys_own() {
        let own = own();
        let reason = AnyReason::resolve("Owner_Said_No", &own);
        assert_eq!(reason, AnyReason::Custom(&own[0]));
        assert_eq!(reason.code(), "owner_said_no");
        assert_eq!(reason.title(), "The owner said no");
        assert_eq!(reason.family(), Some(Family::Custom));
        assert_eq!(reason.exit_code(), 61);
        assert_eq!(
            reason.diagnosis(&Values::new().with("value", "$5")),
            "Spent $5; ask the owner."
        );
        assert_eq!(reason.next_commands(&Values::new())[0], "backstop show RUN");
        assert_eq!(reason.next_step(), NextStep::ManualReview);
        assert!(!reason.auto_resumable());
    }

    #[test]
    fn unknown_is_shown_as_it_is() {
        let reason = AnyReason::resolve("Gone_{value}", &[]);
        assert_eq!(reason, AnyReason::Unknown("Gone_{value}"));
        assert_eq!(reason.code(), "Gone_{value}");
        assert_eq!(reason.title(), "Gone_{value}");
        assert_eq!(reason.family(), None);
        assert_eq!(reason.exit_code(), 1);
        assert!(reason.diagnosis(&Values::new()).starts_with("`Gone_{value}` is not a reason"));
        assert_eq!(reason.next_step(), NextStep::ManualReview);
        assert!(!reason.auto_resumable());
    }
}
