//! Which trace a request belongs to, as `traceparent` says it (W3C Trace Context).

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::http::HeaderMap;

/// Where a span stands in its trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Context {
    pub(super) trace: u128,
    pub(super) span: u64,
    /// The span of whoever asked.
    pub(super) parent: Option<u64>,
    /// Whoever began the trace wants it recorded.
    pub(super) is_wanted: bool,
}

impl Context {
    /// Continues the trace of the request, or begins one.
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let mut given = headers.get_all("traceparent").iter();
        let first = given.next().and_then(|value| value.to_str().ok());
        let (span, parent) = (chance().max(1), first.and_then(parse));
        match parent {
            // Several of them are as good as none.
            Some((trace, parent, is_wanted)) if given.next().is_none() => {
                Self { trace, span, parent: Some(parent), is_wanted }
            }
            _ => {
                let trace = (u128::from(chance()) << 64 | u128::from(chance())).max(1);
                Self { trace, span, parent: None, is_wanted: true }
            }
        }
    }
}

/// `00-` trace `-` span `-` flags. Later versions may say more after it.
fn parse(text: &str) -> Option<(u128, u64, bool)> {
    let mut parts = text.split('-');
    let mut digits = |length: usize| {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        parts.next().filter(|part| part.len() == length && part.bytes().all(is_digit))
    };
    let (version, trace, parent, flags) = (digits(2)?, digits(32)?, digits(16)?, digits(2)?);
    if version == "ff" || version == "00" && parts.next().is_some() {
        return None;
    }
    let trace = u128::from_str_radix(trace, 16).ok().filter(|trace| *trace != 0)?;
    let parent = u64::from_str_radix(parent, 16).ok().filter(|parent| *parent != 0)?;
    let flags = u8::from_str_radix(flags, 16).ok()?;
    Some((trace, parent, flags & 1 == 1))
}

/// A number that is not met twice: nobody relies on its being a secret.
fn chance() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    static KEYS: OnceLock<RandomState> = OnceLock::new();
    let mut hasher = KEYS.get_or_init(RandomState::new).build_hasher();
    hasher.write_u64(NEXT.fetch_add(1, Ordering::Relaxed));
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn of(given: &[&str]) -> Context {
        let mut headers = HeaderMap::new();
        for value in given {
            headers.append("traceparent", value.parse().unwrap());
        }
        Context::of(&headers)
    }

    #[test]
    fn a_trace_is_continued() {
        let context = of(&["00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"]);
        assert_eq!(context.trace, 0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736);
        assert_eq!(context.parent, Some(0x00f0_67aa_0ba9_02b7));
        assert!(context.is_wanted && context.span != 0);
        let unwanted = of(&["00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"]);
        assert!(!unwanted.is_wanted);
        let later = of(&["01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-03-more"]);
        assert_eq!((later.trace, later.is_wanted), (context.trace, true));
    }

    #[rstest]
    #[case("")]
    #[case("00")]
    #[case("00-00000000000000000000000000000000-00f067aa0ba902b7-01")]
    #[case("00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01")]
    #[case("00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01")]
    #[case("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more")]
    #[case("ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")]
    #[case("00-+bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")]
    fn what_can_not_be_read_begins_a_new_one(#[case] given: &str) {
        let context = of(&[given]);
        assert!(context.parent.is_none() && context.is_wanted && context.trace != 0);
    }

    #[test]
    fn two_traces_are_told_apart() {
        let valid = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        assert_eq!(of(&[valid, valid]).parent, None);
        let (one, other) = (of(&[]), of(&[]));
        assert!(one.trace != other.trace && one.span != other.span);
    }
}
