//! From the text of a glob to the machine that reads paths.

use std::iter::Peekable;
use std::str::Chars;

use super::GlobError;
use super::automaton::{Automaton, SLASH, State, Symbols, symbols};

/// Builds the machine for a glob that stands below some folders.
pub(super) fn compile(folders: &[&[u8]], ups: usize, text: &str) -> Result<Automaton, GlobError> {
    check(text)?;
    let is_folder = text.ends_with('/');
    let text = text.trim_end_matches('/');
    let mut builder = Builder { states: vec![Draft::default()], previous: None };
    let mut end = Ends { plain: Some(0), wild: None };
    for folder in folders.iter().copied().chain(std::iter::repeat_n(&b".."[..], ups)) {
        for symbol in symbols(folder).chain([SLASH]) {
            end = builder.read(end, &Symbols::One(symbol), false);
        }
    }
    if text == ".." {
        // The last of the ways up is the whole glob: everything above that folder.
        return Ok(builder.finish_everything(end));
    }
    let mut rest = text.chars().peekable();
    let end = builder.sequence(&mut rest, end, 0)?;
    Ok(builder.finish(end, is_folder))
}

/// What can be told from the text alone.
fn check(text: &str) -> Result<(), GlobError> {
    if text.is_empty() {
        return Err(GlobError("it names nothing"));
    }
    if text.len() > LONGEST {
        return Err(GlobError("it is longer than 1000 bytes"));
    }
    if text.starts_with('/') {
        return Err(GlobError(
            "paths are taken from the working directory: leave the first `/` out",
        ));
    }
    if text.contains("//") {
        return Err(GlobError("no path has `//` in it"));
    }
    let inner = |name: &str| text.split('/').skip(1).any(|part| part == name);
    if inner("..") || inner(".") {
        return Err(GlobError("`.` and `..` can only stand at the beginning"));
    }
    Ok(())
}

/// A state while the machine is built: it may also have ways that read nothing.
#[derive(Debug, Default)]
struct Draft {
    ways: Vec<(Symbols, usize)>,
    free: Vec<usize>,
    accepts: bool,
}

/// Where a part of the glob ends: behind a name without wildcards so far, or one with some.
#[derive(Clone, Copy, Debug, Default)]
struct Ends {
    plain: Option<usize>,
    wild: Option<usize>,
}

struct Builder {
    states: Vec<Draft>,
    /// The character before, to tell where a name begins.
    previous: Option<char>,
}

impl Builder {
    fn sequence(
        &mut self,
        rest: &mut Peekable<Chars<'_>>,
        mut end: Ends,
        depth: usize,
    ) -> Result<Ends, GlobError> {
        while let Some(next) = rest.peek().copied() {
            if depth > 0 && matches!(next, ',' | '}') {
                return Ok(end);
            }
            rest.next();
            let begins = self.previous.is_none_or(|before| matches!(before, '/' | '{' | ','));
            self.previous = Some(next);
            end = match next {
                '*' if rest.next_if_eq(&'*').is_some() => self.folders(rest, end, begins, depth),
                '*' => self.repeat(end, &Symbols::all_but(&[])),
                '?' => self.read(end, &Symbols::all_but(&[]), true),
                '[' => {
                    let class = class(rest)?;
                    self.read(end, &class, true)
                }
                '{' => self.alternatives(rest, end, depth + 1)?,
                '}' => return Err(GlobError("`}` closes nothing: write `\\}` for the character")),
                '\\' => match rest.next() {
                    Some(plain) => self.read(end, &Symbols::One(plain.into()), false),
                    None => return Err(GlobError("nothing follows the backslash")),
                },
                plain => self.read(end, &Symbols::One(plain.into()), false),
            };
            if self.states.len() > MOST_STATES {
                return Err(GlobError("it has too many alternatives"));
            }
        }
        if depth > 0 {
            return Err(GlobError("`{` is not closed: write `\\{` for the character"));
        }
        Ok(end)
    }

    /// `**`: any number of whole folders, everything below one, or any text within a name.
    fn folders(
        &mut self,
        rest: &mut Peekable<Chars<'_>>,
        end: Ends,
        begins: bool,
        depth: usize,
    ) -> Ends {
        while rest.next_if_eq(&'*').is_some() {}
        let closes = depth > 0 && matches!(rest.peek(), Some(',' | '}'));
        if begins && rest.next_if_eq(&'/').is_some() {
            self.previous = Some('/');
            let start = self.joined(end);
            let inside = self.state();
            self.states[start].ways.push((Symbols::all_but(&[]), inside));
            self.states[inside].ways.push((Symbols::all_but(&[]), inside));
            self.states[inside].ways.push((Symbols::One(SLASH), start));
            Ends { plain: Some(start), wild: None }
        } else if begins && (rest.peek().is_none() || closes) {
            let first = self.read(end, &Symbols::everything(), true);
            self.repeat(first, &Symbols::everything())
        } else {
            self.repeat(end, &Symbols::everything())
        }
    }

    fn alternatives(
        &mut self,
        rest: &mut Peekable<Chars<'_>>,
        from: Ends,
        depth: usize,
    ) -> Result<Ends, GlobError> {
        if depth > DEEPEST {
            return Err(GlobError("its braces are nested too deeply"));
        }
        let mut all = Ends::default();
        loop {
            // What reads from here must not be read again by the other alternatives' loops.
            let begin = Ends {
                plain: from.plain.map(|state| self.after(state)),
                wild: from.wild.map(|state| self.after(state)),
            };
            let end = self.sequence(rest, begin, depth)?;
            all = Ends {
                plain: self.either(all.plain, end.plain),
                wild: self.either(all.wild, end.wild),
            };
            self.previous = rest.next();
            if self.previous == Some('}') {
                return Ok(all);
            }
        }
    }

    /// One character more.
    fn read(&mut self, end: Ends, symbols: &Symbols, is_wild: bool) -> Ends {
        let ends_name = *symbols == Symbols::One(SLASH);
        let mut next = Ends::default();
        for (state, was_wild) in [(end.plain, false), (end.wild, true)] {
            let Some(state) = state else { continue };
            let place =
                if (is_wild || was_wild) && !ends_name { &mut next.wild } else { &mut next.plain };
            let to = match *place {
                Some(to) => to,
                None => {
                    self.states.push(Draft::default());
                    *place.insert(self.states.len() - 1)
                }
            };
            self.states[state].ways.push((symbols.clone(), to));
        }
        next
    }

    /// Any number of such characters, none as well.
    fn repeat(&mut self, end: Ends, symbols: &Symbols) -> Ends {
        let from = self.joined(end);
        let again = self.after(from);
        self.states[again].ways.push((symbols.clone(), again));
        Ends { plain: None, wild: Some(again) }
    }

    fn joined(&mut self, end: Ends) -> usize {
        let joined = self.state();
        for state in [end.plain, end.wild].into_iter().flatten() {
            self.states[state].free.push(joined);
        }
        joined
    }

    fn either(&mut self, one: Option<usize>, two: Option<usize>) -> Option<usize> {
        match (one, two) {
            (Some(one), Some(two)) => {
                self.states[two].free.push(one);
                Some(one)
            }
            (one, two) => one.or(two).map(|state| self.after(state)),
        }
    }

    /// A new state that is reached without reading.
    fn after(&mut self, state: usize) -> usize {
        let next = self.state();
        self.states[state].free.push(next);
        next
    }

    fn state(&mut self) -> usize {
        self.states.push(Draft::default());
        self.states.len() - 1
    }

    /// A name without wildcards stands for what is below it too. One with wildcards does so only if
    /// it says that it is a folder, and then not for itself.
    fn finish(mut self, end: Ends, is_folder: bool) -> Automaton {
        let mut folders = Vec::new();
        if let Some(plain) = end.plain {
            self.states[plain].accepts = true;
            folders.push(plain);
        }
        if let Some(wild) = end.wild {
            self.states[wild].accepts |= !is_folder;
            folders.extend(is_folder.then_some(wild));
        }
        for folder in folders {
            let (slash, below) = (self.state(), self.state());
            self.states[folder].ways.push((Symbols::One(SLASH), slash));
            self.states[slash].ways.push((Symbols::everything(), below));
            self.states[below].ways.push((Symbols::everything(), below));
            self.states[below].accepts = true;
        }
        self.without_free_ways()
    }

    fn finish_everything(mut self, end: Ends) -> Automaton {
        let end = self.joined(end);
        let below = self.state();
        self.states[end].ways.push((Symbols::everything(), below));
        self.states[below].ways.push((Symbols::everything(), below));
        self.states[below].accepts = true;
        self.without_free_ways()
    }

    fn without_free_ways(self) -> Automaton {
        let reached: Vec<Vec<usize>> = (0..self.states.len()).map(|from| self.free(from)).collect();
        let states = reached.iter().map(|all| State {
            ways: all.iter().flat_map(|state| self.states[*state].ways.iter().cloned()).collect(),
            accepts: all.iter().any(|state| self.states[*state].accepts),
        });
        Automaton::new(states.collect(), vec![0])
    }

    /// All that can be reached from a state without reading, the state itself first.
    fn free(&self, from: usize) -> Vec<usize> {
        let mut all = vec![from];
        let mut seen = vec![false; self.states.len()];
        seen[from] = true;
        let mut next = 0;
        while let Some(state) = all.get(next).copied() {
            next += 1;
            for to in &self.states[state].free {
                if !std::mem::replace(&mut seen[*to], true) {
                    all.push(*to);
                }
            }
        }
        all
    }
}

/// What is between `[` and `]`.
fn class(rest: &mut Peekable<Chars<'_>>) -> Result<Symbols, GlobError> {
    let unclosed = GlobError("`[` is not closed: write `\\[` for the character");
    let is_negated = rest.next_if(|next| matches!(next, '!' | '^')).is_some();
    let mut ranges = Vec::new();
    loop {
        let mut low = rest.next().ok_or(unclosed.clone())?;
        // As the first one, a bracket is a character like others.
        if low == ']' && !ranges.is_empty() {
            break;
        }
        if low == '\\' {
            low = rest.next().ok_or(unclosed.clone())?;
        }
        let mut ahead = rest.clone();
        let is_range = ahead.next() == Some('-') && ahead.peek().is_some_and(|next| *next != ']');
        let mut high = low;
        if is_range {
            rest.next();
            high = rest.next().ok_or(unclosed.clone())?;
            if high == '\\' {
                high = rest.next().ok_or(unclosed.clone())?;
            }
        }
        if high < low {
            return Err(GlobError("a range in `[…]` is the wrong way round"));
        }
        ranges.push((u32::from(low), u32::from(high)));
    }
    let class = if is_negated { Symbols::all_but(&ranges) } else { Symbols::any_of(&ranges) };
    match &class {
        Symbols::Ranges(left) if left.is_empty() => {
            Err(GlobError("`[…]` has no character that a name has"))
        }
        _ => Ok(class),
    }
}

const LONGEST: usize = 1000;
const DEEPEST: usize = 16;
/// More than any glob of the greatest length needs that was written by a person.
const MOST_STATES: usize = 8000;
