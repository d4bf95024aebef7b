//! Commands that wait before they look.

/// Whether a command sleeps for some time: `sleep 60; gh run view`.
pub(super) fn is_in(action: &[u8]) -> bool {
    let mut rest = &action[..action.len().min(MOST_READ)];
    while let Some(at) = rest.windows(SLEEP.len()).position(|window| window == SLEEP) {
        let (before, found) = rest.split_at(at);
        let is_joined = |byte: &u8| byte.is_ascii_alphanumeric() || JOINS.contains(byte);
        rest = &found[SLEEP.len()..];
        if !before.last().is_some_and(is_joined) && rest.first().is_some_and(u8::is_ascii_digit) {
            return true;
        }
    }
    false
}

const SLEEP: &[u8] = b"sleep ";
/// What makes one word of two.
const JOINS: &[u8] = b"_-.";
/// A command that begins by pausing says so early.
const MOST_READ: usize = 4096;

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("shell: sleep 60; gh run view 1", true)]
    #[case("shell: bash -lc 'sleep 5 && tail log'", true)]
    #[case("shell: gh run view 1 || sleep 0.5", true)]
    #[case("sleep 1", true)]
    #[case("shell: no-sleep 5; sleep 9", true)]
    #[case("shell: grep -rn sleep src", false)]
    #[case("shell: ./no-sleep 5", false)]
    #[case("shell: cat sleep.rs", false)]
    #[case("sleep", false)]
    #[case("", false)]
    fn pauses_are_seen(#[case] action: &str, #[case] expected: bool) {
        assert_eq!(is_in(action.as_bytes()), expected);
    }
}
