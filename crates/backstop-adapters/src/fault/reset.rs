//! When a limit is lifted, as its message says it.

use std::sync::LazyLock;
use std::time::Duration;

use backstop_core::time::Timestamp;
use jiff::Span;
use jiff::civil::{Date, DateTime, Time, Weekday};
use jiff::tz::TimeZone;
use regex::{Captures, Regex};

use crate::Moment;

/// The time that a message names for trying again.
///
/// A clock time without a date is the next time that the clock shows it in that zone. One that has
/// passed by no more than `GRACE` means now and not tomorrow: the message was printed a little
/// late, or the clocks differ. A time that the change to summer time leaves out is the one that the
/// clock shows instead. Where nobody knows when it was said, only a whole date is a time.
pub fn reset_time(text: &str, moment: &Moment) -> Option<Timestamp> {
    let text = &text[..text.floor_char_boundary(LONGEST)];
    let whole: [Reader; 3] = [unix, iso, month];
    let from_now: [Reader; 4] = [weekday, day, relative, clock];
    let from_now = from_now.iter().filter(|_| moment.is_known);
    whole.iter().chain(from_now).find_map(|read| read(text, moment))
}

type Reader = fn(&str, &Moment) -> Option<Timestamp>;

/// How long ago a clock time may lie and still be meant.
pub const GRACE: Duration = Duration::from_secs(10 * 60);

/// `usage limit reached|1751997600`, in seconds or milliseconds.
fn unix(text: &str, _moment: &Moment) -> Option<Timestamp> {
    static FORM: LazyLock<Regex> = LazyLock::new(|| form(r"\|\s*(\d{10}|\d{13})\b"));
    let digits = FORM.captures(text)?.get(1)?.as_str();
    let number: i64 = digits.parse().ok()?;
    unix_time(number)
}

/// A time since 1970 in seconds or, where that would lie far in the future, in milliseconds.
pub(crate) fn unix_time(number: i64) -> Option<Timestamp> {
    let milliseconds = if number >= 100_000_000_000 { number } else { number.checked_mul(1000)? };
    let at = jiff::Timestamp::from_millisecond(milliseconds).ok()?;
    Some(Timestamp::from_jiff(at))
}

/// So many seconds from now, where it is known when now is.
pub(super) fn seconds_from_now(seconds: f64, moment: &Moment) -> Option<Timestamp> {
    moment.after(Duration::try_from_secs_f64(seconds).ok()?.min(LONGEST_WAIT))
}

/// `2026-08-09 00:00 UTC`, `2026-08-09T00:00:00Z`, `2026-08-09 at 00:00 UTC`.
fn iso(text: &str, moment: &Moment) -> Option<Timestamp> {
    static FORM: LazyLock<Regex> = LazyLock::new(|| {
        form(
            r"\b(\d{4})-(\d\d)-(\d\d)(?:[t ]+|,? +at +)(\d\d):(\d\d)(?::(\d\d)(?:\.\d+)?)?(?: ?(z|utc|gmt)\b|([+-]\d\d):?(\d\d))?",
        )
    });
    let found = FORM.captures(text)?;
    let date = Date::new(number(&found, 1)?, number(&found, 2)?, number(&found, 3)?).ok()?;
    let second = number(&found, 6).unwrap_or(0);
    let time = Time::new(number(&found, 4)?, number(&found, 5)?, second, 0).ok()?;
    let when = date.to_datetime(time);
    if let (Some(hours), Some(minutes)) = (number::<i32>(&found, 8), number::<i32>(&found, 9)) {
        let sign = if found[8].starts_with('-') { -1 } else { 1 };
        let offset = jiff::tz::Offset::from_seconds(hours * 3600 + sign * minutes * 60).ok()?;
        return offset.to_timestamp(when).ok().map(Timestamp::from_jiff);
    }
    let is_universal = found.get(7).is_some_and(|zone| zone.as_str().eq_ignore_ascii_case("z"));
    let zone = if is_universal { TimeZone::UTC } else { zone_in(text, moment) };
    instant(when, &zone)
}

/// `Aug 22nd, 2026 2:54 AM`, `Oct 6, 1pm`.
fn month(text: &str, moment: &Moment) -> Option<Timestamp> {
    static FORM: LazyLock<Regex> = LazyLock::new(|| {
        form(&format!(
            r"\b(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.? (\d{{1,2}})(?:st|nd|rd|th)?(?:,? (\d{{4}}))?,?(?: at)? {CLOCK}"
        ))
    });
    let found = FORM.captures(text)?;
    let name = found[1].to_ascii_lowercase();
    let month = MONTHS.iter().position(|month| *month == name)? + 1;
    let (month, day) = (i8::try_from(month).ok()?, number(&found, 2)?);
    let time = time(&found, 4)?;
    let zone = zone_in(text, moment);
    let this_year = moment.now.to_jiff().to_zoned(zone.clone()).year();
    match number(&found, 3) {
        Some(year) => instant(Date::new(year, month, day).ok()?.to_datetime(time), &zone),
        None if !moment.is_known => None,
        // A leap day may take some years to come.
        None => (0..=8)
            .filter_map(|later| Date::new(this_year + later, month, day).ok())
            .filter_map(|date| instant(date.to_datetime(time), &zone))
            .find_map(|at| to_come(at, moment)),
    }
}

/// `resets Mon 12:00am`.
fn weekday(text: &str, moment: &Moment) -> Option<Timestamp> {
    static FORM: LazyLock<Regex> = LazyLock::new(|| {
        form(&format!(r"\b(sun|mon|tue|wed|thu|fri|sat)[a-z]*,?(?: at)? {CLOCK}"))
    });
    let found = FORM.captures(text)?;
    let name = found[1].to_ascii_lowercase();
    let index = WEEKDAYS.iter().position(|weekday| *weekday == name)?;
    let wanted = Weekday::from_sunday_zero_offset(i8::try_from(index).ok()?).ok()?;
    let time = time(&found, 2)?;
    next(moment, &zone_in(text, moment), time, |date| date.weekday() == wanted)
}

/// `resets tomorrow at 9am`.
fn day(text: &str, moment: &Moment) -> Option<Timestamp> {
    static FORM: LazyLock<Regex> =
        LazyLock::new(|| form(&format!(r"\b(today|tomorrow),?(?: at)? {CLOCK}")));
    let found = FORM.captures(text)?;
    let later = i64::from(found[1].eq_ignore_ascii_case("tomorrow"));
    let time = time(&found, 2)?;
    let zone = zone_in(text, moment);
    let today = moment.now.to_jiff().to_zoned(zone.clone()).date();
    let wanted = today.checked_add(Span::new().try_days(later).ok()?).ok()?;
    next(moment, &zone, time, |date| date == wanted)
}

/// `resets 12am`, `try again at 2:54 AM`.
fn clock(text: &str, moment: &Moment) -> Option<Timestamp> {
    static FORM: LazyLock<Regex> = LazyLock::new(|| {
        form(&format!(
            r"\b(?:resets?|again|until|available|retry|lifted)(?: (?:at|after))? {CLOCK}"
        ))
    });
    let found = FORM.captures(text)?;
    let time = time(&found, 1)?;
    next(moment, &zone_in(text, moment), time, |_| true)
}

/// `try again in 5 minutes`, `retry in 6m0s`, `retry-after: 30`. A header that is quoted says to the
/// millisecond what the words around it say to the day.
fn relative(text: &str, moment: &Moment) -> Option<Timestamp> {
    static FORM: LazyLock<Regex> = LazyLock::new(|| {
        form(
            r#"\b(?:again|retry|retrying|resets?|wait|available|retry[-_ ]?(?:after|delay))(?: in| after| for)?[":= ]+(?:about |another )?((?:\d+(?:\.\d+)? ?(?:ms|milliseconds?|days?|d|hours?|hrs?|hr|h|minutes?|mins?|min|m|seconds?|secs?|sec|s)\b?,? ?(?:and )?)+)"#,
        )
    });
    static PART: LazyLock<Regex> = LazyLock::new(|| form(r"(\d+(?:\.\d+)?) ?([a-z]+)"));
    static BARE: LazyLock<Regex> =
        LazyLock::new(|| form(r#"\bretry[-_ ]?after(?:_seconds)?[":= ]+(\d{1,7}(?:\.\d+)?)"#));
    static HEADER: LazyLock<Regex> =
        LazyLock::new(|| form(r#"\bretry[-_]after[-_]ms[":= ]+(\d{1,13})\b"#));
    let seconds = if let Some(found) = HEADER.captures(text) {
        number::<f64>(&found, 1)? / 1000.0
    } else if let Some(found) = FORM.captures(text) {
        let parts = PART.captures_iter(found.get(1)?.as_str());
        parts.filter_map(|part| Some(number::<f64>(&part, 1)? * unit_seconds(&part[2])?)).sum()
    } else {
        number::<f64>(&BARE.captures(text)?, 1)?
    };
    let wait = Duration::try_from_secs_f64(seconds).ok()?;
    Some(moment.now.plus(wait.min(LONGEST_WAIT)))
}

fn unit_seconds(unit: &str) -> Option<f64> {
    let unit = unit.to_ascii_lowercase();
    Some(match unit.as_str() {
        "ms" => 0.001,
        _ if unit.starts_with("milli") => 0.001,
        _ => match unit.bytes().next()? {
            b'd' => 86_400.0,
            b'h' => 3600.0,
            b'm' => 60.0,
            b's' => 1.0,
            _ => return None,
        },
    })
}

/// The next day that suits on which the clock shows this time, today included.
fn next(
    moment: &Moment,
    zone: &TimeZone,
    time: Time,
    suits: impl Fn(Date) -> bool,
) -> Option<Timestamp> {
    let today = moment.now.to_jiff().to_zoned(zone.clone()).date();
    // Yesterday, too: shortly after midnight, 11:55pm has just been.
    (-1..=8)
        .filter_map(|days: i64| today.checked_add(Span::new().try_days(days).ok()?).ok())
        .filter(|date| suits(*date))
        .filter_map(|date| instant(date.to_datetime(time), zone))
        .find_map(|at| to_come(at, moment))
}

/// None if the time has passed; now, if it has only just passed.
fn to_come(at: Timestamp, moment: &Moment) -> Option<Timestamp> {
    (at >= moment.now.minus(GRACE)).then(|| at.max(moment.now))
}

fn instant(when: DateTime, zone: &TimeZone) -> Option<Timestamp> {
    let zoned = when.to_zoned(zone.clone()).ok()?;
    Some(Timestamp::from_jiff(zoned.timestamp()))
}

/// The zone in brackets, a distance from `UTC` or `UTC` itself anywhere, or one of America's behind
/// the time; else where the agent runs.
fn zone_in(text: &str, moment: &Moment) -> TimeZone {
    static NAME: LazyLock<Regex> = LazyLock::new(|| form(r"\(([a-z][a-z0-9_+/-]*)\)"));
    static UTC: LazyLock<Regex> = LazyLock::new(|| form(r"\b(?:utc|gmt)\b"));
    if let Some(zone) = distant(text).or_else(|| american(text)) {
        return zone;
    }
    let mut names = NAME.captures_iter(text).filter_map(|found| found.get(1));
    if let Some(zone) = names.find_map(|name| (moment.zone_named)(name.as_str())) {
        zone
    } else if UTC.is_match(text) {
        TimeZone::UTC
    } else {
        moment.zone.clone()
    }
}

/// `UTC+2`, `GMT-05:30`. Zones that are named `Etc/GMT-9` lie on the other side: they say how far
/// universal time is from there.
fn distant(text: &str) -> Option<TimeZone> {
    static FORM: LazyLock<Regex> =
        LazyLock::new(|| form(r"\b(etc/)?(?:utc|gmt) ?([+-])(\d{1,2})(?::?(\d\d))?\b"));
    let found = FORM.captures(text)?;
    let hours: i32 = number(&found, 3).filter(|hours| *hours <= FARTHEST)?;
    let seconds = hours * 3600 + number::<i32>(&found, 4).unwrap_or(0) * 60;
    let is_west = (&found[2] == "-") != found.get(1).is_some();
    let seconds = if is_west { -seconds } else { seconds };
    Some(TimeZone::fixed(jiff::tz::Offset::from_seconds(seconds).ok()?))
}

/// `3pm EST`, `15:00 (PDT)`. Elsewhere such letters may be anything.
fn american(text: &str) -> Option<TimeZone> {
    static FORM: LazyLock<Regex> =
        LazyLock::new(|| form(r"(?:\d ?[ap]\.?m\.?|:\d\d),? \(?([ecmp])([sd])t\b"));
    let found = FORM.captures(text)?;
    let hours = match found[1].to_ascii_lowercase().as_str() {
        "e" => -5,
        "c" => -6,
        "m" => -7,
        _ => -8,
    };
    let summer = i8::from(found[2].eq_ignore_ascii_case("d"));
    Some(TimeZone::fixed(jiff::tz::offset(hours + summer)))
}

/// The hour, the minute and the half of the day, from this group on.
fn time(found: &Captures<'_>, group: usize) -> Option<Time> {
    let hour: i8 = number(found, group)?;
    let minute = number(found, group + 1);
    let half = found.get(group + 2).map(|half| half.as_str().to_ascii_lowercase());
    let hour = match half.as_deref() {
        Some(half) if (1..=12).contains(&hour) => hour % 12 + if half == "p" { 12 } else { 0 },
        Some(_) => return None,
        // A bare number is no time.
        None => minute.map(|_: i8| hour)?,
    };
    Time::new(hour, minute.unwrap_or(0), 0, 0).ok()
}

fn number<T: std::str::FromStr>(found: &Captures<'_>, group: usize) -> Option<T> {
    found.get(group)?.as_str().parse().ok()
}

fn form(pattern: &str) -> Regex {
    Regex::new(&format!("(?i){pattern}")).expect("the patterns of this file are well formed")
}

const CLOCK: &str = r"(\d{1,2})(?::(\d\d))?(?::\d\d)?(?:[ \u{202f}]?([ap])\.?m\b)?";
const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
/// No zone is more hours away from universal time.
const FARTHEST: i32 = 14;
/// Of a message, so much is looked at.
const LONGEST: usize = 8 * 1024;
const LONGEST_WAIT: Duration = Duration::from_secs(366 * 86_400);
