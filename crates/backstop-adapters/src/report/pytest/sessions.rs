//! Which lines belong to which session. The tests of plugins run sessions of their own, and what
//! those print is shown when their test fails, or with `-rA`.

use std::collections::HashSet;
use std::ops::Range;

use super::figures::Figures;
use super::lines::is_stop;
use crate::report::Case;
use crate::report::text::{Line, leading_number};

/// One session, from its beginning to its figures.
#[derive(Default)]
pub(super) struct Session {
    /// The line in which it began.
    pub place: Range<usize>,
    /// Cases with `-v`.
    pub cases: Vec<Case>,
    /// The last short summary.
    pub summary: Vec<Case>,
    /// What stopped it.
    pub interrupted: Option<String>,
    /// It said that it began, and will rule off its figures. Others are quiet, or their beginning
    /// was cut off.
    is_headed: bool,
    /// How many tests are to come to a result.
    collected: Option<u64>,
    /// Not all of them were run.
    is_stopped: bool,
    /// The last of them has come to a result.
    is_through: bool,
    /// All tests have run, and what they said is shown, each below its title.
    is_showing: bool,
    titles: HashSet<String>,
    /// Those of the titles that were in the short summary.
    summarised: HashSet<String>,
    /// Something was shown that a test had printed. That may be a session.
    is_quoting: bool,
}

impl Session {
    /// Whether figures that differ from what was collected may be those of this session. One test
    /// can fail and be skipped several times, in its parts and when what it used is cleared away.
    /// What plugins make of results may be missing, which shows when all tests are through; but
    /// then, what a test printed is shown, too.
    fn may_have(&self, figures: &Figures) -> bool {
        let Some(collected) = self.collected else { return true };
        let surplus = figures.all().checked_sub(collected);
        let repeated = figures.counts.failed.saturating_add(figures.counts.skipped);
        surplus.is_some_and(|surplus| surplus <= repeated)
            || figures.has_others
            || (self.is_through && !self.is_quoting)
    }
}

/// The sessions so far.
#[derive(Default)]
pub(super) struct Sessions {
    /// Those that have not ended, the outermost first.
    open: Vec<Session>,
    /// What is read while there is none.
    loose: Session,
    /// The last one that came to its figures.
    pub ended: Option<(Session, Figures)>,
    /// How many said that they began.
    pub begun: usize,
    /// Nothing has begun since the last figures.
    is_behind: bool,
}

impl Sessions {
    /// The one whose lines are being read.
    pub fn current(&mut self) -> &mut Session {
        self.open.last_mut().unwrap_or(&mut self.loose)
    }

    /// Whether no session goes on.
    pub fn is_outside(&self) -> bool {
        self.open.is_empty()
    }

    /// Whether a test printed what is being read.
    pub fn is_quoting(&self) -> bool {
        self.open.last().is_some_and(|session| session.is_quoting)
    }

    /// Whether the last words were those of a session that ended, and none goes on.
    pub fn is_behind_end(&self) -> bool {
        self.is_behind && self.is_outside()
    }

    /// The session that ended last had been stopped.
    pub fn stop_ended(&mut self, why: &str) {
        if let Some((session, _)) = &mut self.ended {
            session.interrupted.get_or_insert_with(|| why.to_owned());
        }
    }

    /// `test session starts`.
    pub fn begin(&mut self, line: &Line<'_>) {
        // When results are shown no test runs any more: this one can only be quoted.
        self.open.pop_if(|session| !session.is_headed && !session.is_quoting);
        self.loose = Session::default();
        self.begun += 1;
        self.is_behind = false;
        if self.open.len() < MOST_OPEN {
            let place = line.begin..line.end;
            self.open.push(Session { place, is_headed: true, ..Session::default() });
        }
    }

    /// `FAILURES` and the like. Where nothing began before, it is that of a quiet session.
    pub fn show(&mut self, line: &Line<'_>) {
        self.is_behind = false;
        if self.open.is_empty() {
            let loose = std::mem::take(&mut self.loose);
            self.open.push(Session { place: line.begin..line.end, ..loose });
        }
        self.current().is_showing = true;
    }

    /// Any line that tells more of how the results of the current session are shown.
    pub fn line(&mut self, text: &str) {
        if is_progress(text) {
            self.is_behind = false;
        } else if self.is_behind
            && self.open.is_empty()
            && (is_captured(text) || title(text).is_some())
        {
            // Such a line stands below a heading, and there was none since.
            self.reopen(|session| session.summarised.is_empty());
        }
        let session = self.current();
        session.is_through |= text.ends_with("[100%]");
        if is_stop(text) {
            session.is_stopped = true;
        } else if let Some(collected) = collected(text) {
            session.collected.get_or_insert(collected);
        } else if session.is_showing && is_captured(text) {
            session.is_quoting = true;
        } else if let Some(title) = title(text)
            && session.is_showing
            && session.titles.len() < MOST_TITLES
        {
            session.titles.insert(title.to_owned());
        }
    }

    /// A case in a short summary. If the test was shown before, the summary is that of the session
    /// which showed it, and all that it quoted is over, whatever has become of it.
    pub fn summarise(&mut self, case: Case) {
        let title = title_of(&case.name);
        let shown = self.open.iter().rposition(|session| session.titles.contains(&title));
        if let Some(shown) = shown {
            let summary = std::mem::take(&mut self.current().summary);
            self.open.truncate(shown + 1);
            self.current().summary = summary;
        } else if self.open.is_empty() && self.is_behind {
            self.reopen(|session| {
                session.titles.contains(&title) && !session.summarised.contains(&title)
            });
        }
        let session = self.current();
        session.summary.push(case);
        if session.titles.contains(&title) {
            session.summarised.insert(title);
        }
    }

    /// The figures before were quoted, if the session that they seemed to end goes on behind them.
    fn reopen(&mut self, goes_on: impl Fn(&Session) -> bool) {
        let goes_on =
            |(session, _): &mut (Session, Figures)| session.is_quoting && goes_on(session);
        if let Some((mut session, _)) = self.ended.take_if(goes_on) {
            session.summary = std::mem::take(&mut self.loose.summary);
            self.open.push(session);
        }
    }

    /// Takes in the figures of a session; says where it began.
    pub fn end(&mut self, figures: Figures, line: &Line<'_>) -> usize {
        let owner = self.owner(&figures);
        let session = match owner {
            Some(owner) => {
                self.open.truncate(owner + 1);
                self.open.pop().unwrap_or_default()
            }
            None if self.open.is_empty() => std::mem::take(&mut self.loose),
            // A quiet one within another one.
            None => {
                let around = self.current();
                Session {
                    place: line.begin..line.end,
                    summary: std::mem::take(&mut around.summary),
                    interrupted: around.interrupted.take(),
                    ..Session::default()
                }
            }
        };
        let begin = if owner.is_some() { session.place.start } else { line.begin };
        self.ended = Some((session, figures));
        self.is_behind = true;
        begin
    }

    /// Whose figures these are: the innermost session's, unless it can't have had them and one
    /// around it did, or nobody did. A session that is killed, or breaks, has none.
    fn owner(&self, figures: &Figures) -> Option<usize> {
        let (last, around) = self.open.split_last()?;
        if !figures.is_ruled {
            return (!last.is_headed).then_some(around.len());
        }
        let is_quoted = around.last().is_some_and(|session| session.is_quoting);
        let all = figures.all();
        let is_own = figures.ran_nothing
            || last.collected.map_or(!is_quoted, |collected| {
                all == collected || (last.is_stopped && all < collected)
            });
        let fits = |session: &Session| session.collected == Some(all);
        let may_fit = |session: &Session| {
            last.collected.is_some() && session.is_quoting && session.collected.is_none()
        };
        let other = (!is_own)
            .then(|| around.iter().rposition(fits).or_else(|| around.iter().rposition(may_fit)));
        let innermost = || (is_own || last.may_have(figures)).then_some(around.len());
        other.flatten().or_else(innermost)
    }

    /// Whether a session goes on around the one that ended last, and came to no end.
    pub fn is_cut_around(&self) -> bool {
        let ended = self.ended.as_ref().map_or(0, |(session, _)| session.place.start);
        self.unfinished().any(|session| session.place.start < ended)
    }

    /// Those that came to no end. What is only shown, without anything that a test printed, need
    /// not be a session at all.
    pub fn unfinished(&self) -> impl Iterator<Item = &Session> {
        self.open.iter().filter(|session| session.is_headed || session.is_quoting)
    }

    /// All cases, and what stopped them, where no session came to its figures.
    pub fn rest(self) -> (Vec<Case>, Option<String>) {
        let mut cases = self.loose.cases;
        let mut interrupted = self.loose.interrupted;
        for session in self.open {
            cases.extend(session.cases);
            interrupted = session.interrupted.or(interrupted);
        }
        (cases, interrupted)
    }
}

/// `collected 5 items / 1 error / 2 deselected / 1 skipped / 3 selected`.
fn collected(line: &str) -> Option<u64> {
    let line = line.strip_prefix("collecting ... ").unwrap_or(line);
    let mut figures = line.strip_prefix("collected ")?.split(" / ");
    let (mut count, word) = leading_number(figures.next()?)?;
    if !matches!(word, " item" | " items") {
        return None;
    }
    let mut beside = 0_u64;
    for figure in figures {
        let (number, word) = leading_number(figure)?;
        match word {
            " deselected" => count = count.saturating_sub(number),
            " error" | " errors" | " skipped" => beside = beside.saturating_add(number),
            _ => {}
        }
    }
    Some(count.saturating_add(beside))
}

/// `---- Captured stdout call ----`.
fn is_captured(line: &str) -> bool {
    line.starts_with("---") && line.trim_matches(['-', ' ']).starts_with("Captured ")
}

/// The test in `____ TestSum.test_adds ____`, or in `____ ERROR at setup of test_adds ____`.
fn title(line: &str) -> Option<&str> {
    let inside = line.strip_prefix('_')?.strip_suffix('_')?.trim_matches('_');
    let title = inside.strip_prefix(' ')?.strip_suffix(' ')?;
    let around = ["ERROR at setup of ", "ERROR at teardown of ", "ERROR collecting "];
    Some(around.iter().find_map(|around| title.strip_prefix(around)).unwrap_or(title))
}

/// The title of `tests/test_sum.py::TestSum::test_adds`.
fn title_of(name: &str) -> String {
    name.split_once("::").map_or(name, |(_, test)| test).replace("::", ".")
}

/// `..F.   [100%]`, which is how a quiet session begins.
fn is_progress(line: &str) -> bool {
    let Some((marks, rest)) = line.split_once(' ') else { return false };
    !marks.is_empty()
        && marks.bytes().all(|mark| b".FEsxXR".contains(&mark))
        && rest.ends_with("%]")
}

/// Sessions within each other.
const MOST_OPEN: usize = 64;

/// What failed first is enough to know a session by.
const MOST_TITLES: usize = 4096;
