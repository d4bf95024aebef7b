//! Families of reasons, and the exit codes that belong to each.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// What kind of thing ended or held a run. An exit code names its family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Family {
    /// The work is done.
    Success,
    /// The work went, or would have gone, where it may not.
    Constraint,
    /// The work is wrong, or something broke.
    Failure,
    /// A review said no.
    Review,
    /// The supervised program could not do its part.
    Worker,
    /// Too much of the work fails, or it no longer gets better.
    Quality,
    /// A rule about automated re-runs.
    Policy,
    /// A condition of the user's own.
    Custom,
    /// A budget is used up.
    ResourceLimit,
    /// A person, or a parent process, ended it.
    User,
}

impl Family {
    /// Every family, in the registry's order.
    pub const ALL: [Self; 10] = [
        Self::Success,
        Self::Constraint,
        Self::Failure,
        Self::Review,
        Self::Worker,
        Self::Quality,
        Self::Policy,
        Self::Custom,
        Self::ResourceLimit,
        Self::User,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Constraint => "constraint",
            Self::Failure => "failure",
            Self::Review => "review",
            Self::Worker => "worker",
            Self::Quality => "quality",
            Self::Policy => "policy",
            Self::Custom => "custom",
            Self::ResourceLimit => "resource_limit",
            Self::User => "user",
        }
    }

    /// The exit codes of this family, both ends included.
    ///
    /// `Custom` has two ranges because 64 to 78 are the sysexits codes, kept for backstop's own
    /// faults.
    pub fn exit_codes(self) -> &'static [RangeInclusive<u8>] {
        match self {
            Self::Success => &[0..=0],
            Self::Constraint => &[2..=9],
            Self::Failure => &[10..=19],
            Self::Review => &[20..=29],
            Self::Worker => &[30..=39],
            Self::Quality => &[40..=49],
            Self::Policy => &[50..=59],
            Self::Custom => &[60..=63, 79..=99],
            Self::ResourceLimit => &[124..=129],
            Self::User => &[130..=u8::MAX],
        }
    }

    /// Whether `exit_code` belongs to this family.
    pub fn contains(self, exit_code: u8) -> bool {
        self.exit_codes().iter().any(|range| range.contains(&exit_code))
    }
}

impl fmt::Display for Family {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl FromStr for Family {
    type Err = UnknownFamily;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let wanted = super::normalised(name);
        Self::ALL
            .into_iter()
            .find(|family| family.as_str() == wanted)
            .ok_or_else(|| UnknownFamily { name: name.to_owned() })
    }
}

/// A name that is no family's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown family of reasons `{name}`; {}", hint(name))]
pub struct UnknownFamily {
    pub name: String,
}

fn hint(name: &str) -> String {
    let names = Family::ALL.map(Family::as_str);
    match crate::diagnostic::nearest(name, names) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("families: {}", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[test]
    fn names_round_trip_and_match_their_json() {
        for family in Family::ALL {
            assert_eq!(family.as_str().parse(), Ok(family));
            assert_eq!(family.as_str().to_uppercase().replace('_', "-").parse(), Ok(family));
            assert_eq!(serde_json::to_value(family).unwrap(), family.as_str());
        }
        assert_eq!(
            "sucess".parse::<Family>().unwrap_err().to_string(),
            "unknown family of reasons `sucess`; did you mean `success`?"
        );
    }

    #[test]
    fn no_exit_code_has_two_families() {
        for exit_code in 0..=u8::MAX {
            let owners = Family::ALL.into_iter().filter(|family| family.contains(exit_code));
            assert!(owners.count() <= 1, "{exit_code}");
        }
    }

    #[rstest]
    #[case(0, Some(Family::Success))]
    #[case(1, None)]
    #[case(2, Some(Family::Constraint))]
    #[case(9, Some(Family::Constraint))]
    #[case(10, Some(Family::Failure))]
    #[case(19, Some(Family::Failure))]
    #[case(20, Some(Family::Review))]
    #[case(29, Some(Family::Review))]
    #[case(30, Some(Family::Worker))]
    #[case(39, Some(Family::Worker))]
    #[case(40, Some(Family::Quality))]
    #[case(49, Some(Family::Quality))]
    #[case(50, Some(Family::Policy))]
    #[case(59, Some(Family::Policy))]
    #[case(60, Some(Family::Custom))]
    #[case(63, Some(Family::Custom))]
    #[case(64, None)]
    #[case(78, None)]
    #[case(79, Some(Family::Custom))]
    #[case(99, Some(Family::Custom))]
    #[case(100, None)]
    #[case(123, None)]
    #[case(124, Some(Family::ResourceLimit))]
    #[case(129, Some(Family::ResourceLimit))]
    #[case(130, Some(Family::User))]
    #[case(143, Some(Family::User))]
    #[case(255, Some(Family::User))]
    fn exit_codes_at_the_edges(#[case] exit_code: u8, #[case] owner: Option<Family>) {
        assert_eq!(Family::ALL.into_iter().find(|family| family.contains(exit_code)), owner);
    }
}
