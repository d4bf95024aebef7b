//! Points in time and lengths of time, as programs print them.
//!
//! A form is read part by part, and each part after which the noise may end moves the end on. So
//! the longest form wins, and a part that does not fit takes nothing away from those before it.

use super::Text;

/// A date, a date and a time, or a time, beginning with a digit.
pub(super) fn stamp(text: Text<'_>) -> Option<usize> {
    let number = text.bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    match text.at(number)? {
        b'-' | b'/' => dated(text).or_else(|| day_first(text, 0)),
        b' ' => day_first(text, 0),
        b':' => clock(text, 0, Seconds::Required),
        b'T' => compact(text),
        _ => None,
    }
}

/// A date that begins with the name of a weekday or month.
pub(super) fn named_stamp(text: Text<'_>) -> Option<usize> {
    let start = match one_of(text, 0, &WEEKDAYS) {
        Some(weekday) => {
            let comma = weekday + usize::from(text.has(weekday, b','));
            blank(text, comma)?
        }
        None => 0,
    };
    month_first(text, start).or_else(|| if start > 0 { day_first(text, start) } else { None })
}

/// `1.23s`, `450ms`, `2m 3s`, `1h2m3s`, `12 seconds`
pub(super) fn duration(text: Text<'_>) -> Option<usize> {
    let mut best = None;
    let mut end = 0;
    while let Some(number) = text.decimal(end) {
        // The first letter rules most of what follows a number out.
        let initial = text.at(number + usize::from(text.has(number, b' '))).unwrap_or_default();
        if !matches!(initial.to_ascii_lowercase(), b'h' | b'm' | b'n' | b's' | b'u' | 0x80..) {
            break;
        }
        let attached = one_of(text, number, &UNITS);
        let apart = || one_of(text, blank(text, number)?, &UNITS_APART);
        let Some(unit) = attached.or_else(apart) else {
            break;
        };
        if text.ends(unit) {
            best = Some(unit);
        }
        end = unit + usize::from(text.has(unit, b' '));
    }
    best
}

/// `2026-01-15`, with or without a time after it
fn dated(text: Text<'_>) -> Option<usize> {
    let year = text.number(0, (4, 4), YEARS)?;
    let separator = text.at(year).filter(|byte| matches!(byte, b'-' | b'/'))?;
    let month = text.number(year + 1, (2, 2), (1, 12))?;
    if !text.has(month, separator) {
        return None;
    }
    let day = text.number(month + 1, (2, 2), (1, 31))?;
    let time = matches!(text.at(day), Some(b'T' | b't' | b' ' | b'_'))
        .then(|| clock(text, day + 1, Seconds::Optional))
        .flatten();
    time.or_else(|| ended(text, day))
}

/// `20260115T123000Z`
fn compact(text: Text<'_>) -> Option<usize> {
    let date = text.number(0, (8, 8), (19_000_101, 21_991_231))?;
    if !text.has(date, b'T') {
        return None;
    }
    let time = text.digits(date + 1, 4, 6)?;
    text.word(time, b"z").and_then(|end| ended(text, end)).or_else(|| ended(text, time))
}

/// `15 Jan 2026 12:30:00 GMT`, `15/Jan/2026:12:30:00 +0000`, `15/01/2026`
fn day_first(text: Text<'_>, start: usize) -> Option<usize> {
    let day = text.number(start, (1, 2), (1, 31))?;
    let separator = text.at(day).filter(|byte| matches!(byte, b' ' | b'-' | b'/'))?;
    let month = one_of(text, day + 1, &MONTHS).or_else(|| {
        let number = || text.number(day + 1, (1, 2), (1, 12));
        if separator == b'/' { number() } else { None }
    })?;
    if !text.has(month, separator) {
        return None;
    }
    let year = text.number(month + 1, (4, 4), YEARS)?;
    let time = matches!(text.at(year), Some(b' ' | b':'))
        .then(|| clock(text, year + 1, Seconds::Optional))
        .flatten();
    time.or_else(|| ended(text, year))
}

/// `Jan 5 12:30:00`, `Jan 15 12:30:00 2026`, `Jan 15, 2026`; a day alone is too little.
fn month_first(text: Text<'_>, start: usize) -> Option<usize> {
    let month = one_of(text, start, &MONTHS)?;
    let day = text.number(blank(text, month)?, (1, 2), (1, 31))?;
    let next = blank(text, day + usize::from(text.has(day, b',')))?;
    if let Some(time) = clock(text, next, Seconds::Optional) {
        let year = || ended(text, text.number(blank(text, time)?, (4, 4), YEARS)?);
        return Some(year().unwrap_or(time));
    }
    let year = text.number(next, (4, 4), YEARS)?;
    let time = || clock(text, blank(text, year)?, Seconds::Optional);
    time().or_else(|| ended(text, year))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Seconds {
    /// Without them, and without AM or PM, it might as well be a line and a column.
    Required,
    Optional,
}

/// `12:30:00`, with a fraction, AM or PM, and a zone
fn clock(text: Text<'_>, start: usize, seconds: Seconds) -> Option<usize> {
    let hour = text.number(start, (1, 2), (0, 24))?;
    if !text.has(hour, b':') {
        return None;
    }
    let minute = text.number(hour + 1, (2, 2), (0, 59))?;
    let second =
        if text.has(minute, b':') { text.number(minute + 1, (2, 2), (0, 60)) } else { None };
    let mut end = second.unwrap_or(minute);
    let mut best = None;
    if second.is_some() || seconds == Seconds::Optional {
        best = ended(text, end);
    }
    if second.is_some()
        && matches!(text.at(end), Some(b'.' | b','))
        && let Some(fraction) = text.digits(end + 1, 1, 9)
    {
        end = fraction;
        best = ended(text, end).or(best);
    }
    let half = one_of(text, end + usize::from(text.has(end, b' ')), &[b"am", b"pm"]);
    if let Some(half) = half.and_then(|half| ended(text, half)) {
        return Some(half);
    }
    if second.is_some() || seconds == Seconds::Optional {
        best = zone(text, end).or(best);
    }
    best
}

/// `Z`, `+02:00`, ` -0700`, ` UTC`
fn zone(text: Text<'_>, start: usize) -> Option<usize> {
    if let Some(end) = text.word(start, b"z") {
        return ended(text, end);
    }
    let apart = start + usize::from(text.has(start, b' '));
    if let Some(end) = one_of(text, apart, &[b"utc", b"gmt"]) {
        return ended(text, end);
    }
    if !matches!(text.at(apart), Some(b'+' | b'-')) {
        return None;
    }
    if let Some(end) = text.digits(apart + 1, 4, 4) {
        return ended(text, end);
    }
    let hours = text.digits(apart + 1, 2, 2)?;
    if !text.has(hours, b':') {
        return None;
    }
    ended(text, text.digits(hours + 1, 2, 2)?)
}

fn ended(text: Text<'_>, end: usize) -> Option<usize> {
    text.ends(end).then_some(end)
}

fn blank(text: Text<'_>, index: usize) -> Option<usize> {
    text.has(index, b' ').then_some(index + 1)
}

/// The place after the first of the words that stands at `index`.
fn one_of(text: Text<'_>, index: usize, words: &[&[u8]]) -> Option<usize> {
    words.iter().find_map(|word| text.word(index, word))
}

const YEARS: (u32, u32) = (1900, 2199);

const WEEKDAYS: [&[u8]; 7] = [b"mon", b"tue", b"wed", b"thu", b"fri", b"sat", b"sun"];

const MONTHS: [&[u8]; 12] = [
    b"jan", b"feb", b"mar", b"apr", b"may", b"jun", b"jul", b"aug", b"sep", b"oct", b"nov", b"dec",
];

/// Longer words before those that they begin with.
const UNITS: [&[u8]; 22] = [
    b"milliseconds",
    b"millisecond",
    b"minutes",
    b"minute",
    b"mins",
    b"min",
    b"ms",
    b"m",
    b"seconds",
    b"second",
    b"secs",
    b"sec",
    b"s",
    b"hours",
    b"hour",
    b"hrs",
    b"hr",
    b"h",
    b"ns",
    b"us",
    "µs".as_bytes(),
    "μs".as_bytes(),
];

/// Units that may stand apart from their number; `m` and `h` would be too many other things.
const UNITS_APART: [&[u8]; 13] = [
    b"milliseconds",
    b"millisecond",
    b"minutes",
    b"minute",
    b"mins",
    b"min",
    b"ms",
    b"seconds",
    b"second",
    b"secs",
    b"sec",
    b"s",
    b"hours",
];
