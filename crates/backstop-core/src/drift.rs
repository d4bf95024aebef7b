//! How far the work has drifted from what was asked for: one minus the cosine similarity between
//! their words.
//!
//! Words are stemmed, and those that mean nothing by themselves are left out. Names in code are
//! taken apart into the words that they are made of. The tenth time that a word occurs says less than
//! the first, so its weight grows with the logarithm of its count.

mod stem;
mod words;

use std::collections::BTreeMap;

pub use stem::stem;
use words::words;

/// The words of a text by their stems, each with how often it occurs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Terms(BTreeMap<String, u32>);

impl Terms {
    /// Adds the words of a text.
    pub fn add(&mut self, text: &str) {
        for word in words(text) {
            let count = self.0.entry(stem(&word)).or_default();
            *count = count.saturating_add(1);
        }
    }

    pub fn of(text: &str) -> Self {
        let mut terms = Self::default();
        terms.add(text);
        terms
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn length(&self) -> f64 {
        self.0.values().map(|count| weight(*count).powi(2)).sum::<f64>().sqrt()
    }
}

/// From 0, where both say the same, to 1, where they have no word in common. None where one of them
/// says nothing: then there is nothing to be compared.
pub fn score(asked_for: &Terms, done: &Terms) -> Option<f64> {
    if asked_for.is_empty() || done.is_empty() {
        return None;
    }
    let common = asked_for
        .0
        .iter()
        .filter_map(|(term, count)| done.0.get(term).map(|other| weight(*count) * weight(*other)));
    let similarity = common.sum::<f64>() / (asked_for.length() * done.length());
    Some((1.0 - similarity).clamp(0.0, 1.0))
}

fn weight(count: u32) -> f64 {
    1.0 + f64::from(count.max(1)).ln()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const ASKED: &str = "Users can reset a forgotten password by mail. The reset link expires \
                         after one hour, and a used link is refused.";

    // The figures come from this, with the stems written out by hand:
    //
    // from math import log, sqrt
    // asked = "user reset forgotten password mail reset link expir hour use link refus"
    // texts = {
    //   "same": asked,
    //   "code": "send password reset mail user user link reset link hour send mail user link",
    //   "prose": "reset link expir hour refus second time",
    //   "half": "reset password draw canva gradient sprite",
    //   "other": "draw canva gradient sprite anim frame",
    // }
    // def vector(text):
    //     counts = {}
    //     for word in text.split(): counts[word] = counts.get(word, 0) + 1
    //     return {word: 1 + log(count) for word, count in counts.items()}
    // def length(v): return sqrt(sum(x * x for x in v.values()))
    // a = vector(asked)
    // for name, text in texts.items():
    //     b = vector(text)
    //     print(name, round(1 - sum(x * b.get(w, 0) for w, x in a.items()) / length(a) / length(b), 4))
    #[rstest]
    #[case::same(ASKED, 0.0)]
    #[case::code(
        "+fn sendPasswordResetMail(user: &User) {\n+    let link = ResetLink::for_hours(1);\n\
         +    send_mail(user, link)\n+}\n",
        0.252
    )]
    #[case::prose(
        "The reset link now expires after an hour and is refused the second time.",
        0.3487
    )]
    #[case::half("reset the password; draw canvas gradients and sprites", 0.7033)]
    #[case::other("drawCanvas(gradient); // sprites are animated by frame", 1.0)]
    fn related_work_scores_low_and_unrelated_work_high(#[case] done: &str, #[case] expected: f64) {
        let score = score(&Terms::of(ASKED), &Terms::of(done)).unwrap();
        assert!((score - expected).abs() < 5e-5, "{score}");
    }

    #[rstest]
    #[case("", "text")]
    #[case("text", "")]
    #[case("text", "the 12 of -- 0x")]
    fn where_nothing_is_said_there_is_no_score(#[case] asked_for: &str, #[case] done: &str) {
        assert_eq!(score(&Terms::of(asked_for), &Terms::of(done)), None);
    }

    proptest::proptest! {
        #[test]
        fn any_two_texts_score_between_0_and_1_either_way(one in ".{0,200}", other in ".{0,200}") {
            let (one, other) = (Terms::of(&one), Terms::of(&other));
            let found = score(&one, &other);
            proptest::prop_assert!(found.is_none_or(|score| (0.0..=1.0).contains(&score)));
            let mirrored = score(&other, &one);
            let difference = found.zip(mirrored).map_or(0.0, |(one, other)| (one - other).abs());
            proptest::prop_assert!(difference < 1e-9);
            proptest::prop_assert_eq!(found.is_some(), mirrored.is_some());
        }
    }
}
