//! The time that CI services, containers and log collectors put before every line.

/// What follows a time that stands before a line; nothing if none does.
///
/// The time has a zone and one blank behind it, is in brackets or not, and may have the names of a
/// job and a step before it, each with a tab: as GitHub, GitLab, Jenkins and Docker write it.
/// Jenkins may tell the hour alone, with two blanks behind it. What programs log themselves looks
/// much like it, so it only means something before what is known.
pub(crate) fn after_stamp(line: &[u8]) -> Option<&[u8]> {
    match line.first()? {
        b'0'..=b'9' | b'[' | b'\xef' => at_beginning(line),
        _ => {
            let head = &line[..line.len().min(LONGEST_NAMES)];
            let mut tabs = memchr::memchr_iter(b'\t', head);
            let (_, second) = (tabs.next()?, tabs.next()?);
            at_beginning(&line[second + 1..])
        }
    }
}

fn at_beginning(line: &[u8]) -> Option<&[u8]> {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    if let Some(rest) = after_shape(line, b"00:00:00") {
        return if rest.is_empty() { Some(rest) } else { rest.strip_prefix(b"  ") };
    }
    let rest = match line.strip_prefix(b"[") {
        Some(inner) => after_time(inner)?.strip_prefix(b"]")?,
        None => after_time(line)?,
    };
    let rest = match rest {
        [] => rest,
        [b' ', rest @ ..] => rest,
        _ => return None,
    };
    Some(match rest {
        // GitLab adds which stream it was, and whether the line goes on.
        [
            b'0'..=b'9' | b'a'..=b'f',
            b'0'..=b'9' | b'a'..=b'f',
            b'O' | b'E',
            b' ' | b'+',
            rest @ ..,
        ] => rest,
        rest => rest,
    })
}

/// What follows `2026-01-15T10:00:00.1234567Z`.
fn after_time(text: &[u8]) -> Option<&[u8]> {
    let rest = after_shape(text, b"0000-00-00T00:00:00")?;
    let rest = match rest {
        [b'.' | b',', digits @ ..] => {
            let count = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
            (1..=MOST_DIGITS).contains(&count).then(|| &digits[count..])?
        }
        rest => rest,
    };
    match rest {
        [b'Z' | b'z', rest @ ..] => Some(rest),
        [b'+' | b'-', rest @ ..] => {
            after_shape(rest, b"00:00").or_else(|| after_shape(rest, b"0000"))
        }
        _ => None,
    }
}

/// What follows text of the same shape: any digit for a zero, everything else as it is.
fn after_shape<'a>(text: &'a [u8], shape: &[u8]) -> Option<&'a [u8]> {
    let (head, rest) = text.split_at_checked(shape.len())?;
    let fits = head.iter().zip(shape).all(|(byte, wanted)| match wanted {
        b'0' => byte.is_ascii_digit(),
        wanted => byte == wanted,
    });
    fits.then_some(rest)
}

const MOST_DIGITS: usize = 9;
/// The names of a job and a step are short.
const LONGEST_NAMES: usize = 256;

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("2026-01-15T10:00:00.1234567Z {}", Some("{}"))]
    #[case("\u{feff}2026-01-15T10:00:00.1234567Z   two", Some("  two"))]
    #[case("2026-01-15T10:00:00Z", Some(""))]
    #[case("2026-01-15T10:00:00+01:00 x", Some("x"))]
    #[case("[2026-01-15T10:00:00.123Z] x", Some("x"))]
    #[case("build\tRun tests\t2026-01-15T10:00:00.1Z x", Some("x"))]
    #[case("2026-01-15T10:00:00.123456Z 01O x", Some("x"))]
    #[case("10:00:00  x", Some("x"))]
    #[case("10:00:00    two", Some("  two"))]
    #[case("10:00:00", Some(""))]
    #[case("10:00:00 x", None)]
    #[case("2026-01-15T10:00:00 x", None)]
    #[case("2026-01-15T10:00:00Zx", None)]
    #[case("2026-01-15", None)]
    #[case("x 2026-01-15T10:00:00Z y", None)]
    #[case("a\tb", None)]
    #[case("", None)]
    fn a_time_before_a_line_is_told_from_others(
        #[case] line: &str,
        #[case] expected: Option<&str>,
    ) {
        assert_eq!(after_stamp(line.as_bytes()), expected.map(str::as_bytes));
    }
}
