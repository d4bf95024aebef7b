//! The machine that reads a path, one character at a time.

/// States and the ways between them. There is no way that reads nothing.
#[derive(Clone, Debug)]
pub(super) struct Automaton {
    states: Vec<State>,
    starts: Vec<usize>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct State {
    pub(super) ways: Vec<(Symbols, usize)>,
    pub(super) accepts: bool,
}

/// The characters that a way reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Symbols {
    One(u32),
    /// Sorted, without overlaps.
    Ranges(Vec<(u32, u32)>),
}

/// The states that a part of a path has led to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reached(Vec<usize>);

impl Reached {
    /// Nothing that begins like this is named.
    pub fn is_nowhere(&self) -> bool {
        self.0.is_empty()
    }
}

impl Automaton {
    pub(super) fn new(states: Vec<State>, starts: Vec<usize>) -> Self {
        Self { states, starts }
    }

    pub(super) fn start(&self) -> Reached {
        Reached(self.starts.clone())
    }

    pub(super) fn reach(&self, from: &Reached, part: &[u8]) -> Reached {
        let mut now = from.0.clone();
        let mut next = Vec::new();
        for symbol in symbols(part) {
            next.clear();
            for state in &now {
                let ways = self.states[*state].ways.iter();
                next.extend(ways.filter(|way| way.0.contains(symbol)).map(|way| way.1));
            }
            next.sort_unstable();
            next.dedup();
            std::mem::swap(&mut now, &mut next);
            if now.is_empty() {
                break;
            }
        }
        Reached(now)
    }

    pub(super) fn accepts(&self, reached: &Reached) -> bool {
        reached.0.iter().any(|state| self.states[*state].accepts)
    }

    /// Whether both can read one and the same path to its end: a walk over pairs of states.
    pub(super) fn overlaps(&self, other: &Self) -> bool {
        let width = other.states.len();
        let mut seen = vec![false; self.states.len() * width];
        let mut open = Vec::new();
        let mut visit = |pair: (usize, usize), open: &mut Vec<_>| {
            if !std::mem::replace(&mut seen[pair.0 * width + pair.1], true) {
                open.push(pair);
            }
        };
        for one in &self.starts {
            other.starts.iter().for_each(|two| visit((*one, *two), &mut open));
        }
        while let Some((one, two)) = open.pop() {
            let (one, two) = (&self.states[one], &other.states[two]);
            if one.accepts && two.accepts {
                return true;
            }
            for (read, to) in &one.ways {
                for (_, there) in two.ways.iter().filter(|(also, _)| read.meets(also)) {
                    visit((*to, *there), &mut open);
                }
            }
        }
        false
    }
}

impl Symbols {
    /// Everything but what is between these bounds, and `/` in no case.
    pub(super) fn all_but(ranges: &[(u32, u32)]) -> Self {
        let mut out = ranges.to_vec();
        out.push((SLASH, SLASH));
        let out = sorted(out);
        let mut left = Vec::new();
        let mut from = 0;
        for (low, high) in out {
            if low > from {
                left.push((from, low - 1));
            }
            from = high + 1;
        }
        if from <= LAST {
            left.push((from, LAST));
        }
        Self::Ranges(left)
    }

    /// What is between these bounds, but for `/`.
    pub(super) fn any_of(ranges: &[(u32, u32)]) -> Self {
        let split = ranges.iter().flat_map(|(low, high)| {
            let below = (*low < SLASH).then(|| (*low, (*high).min(SLASH - 1)));
            let above = (*high > SLASH).then(|| ((*low).max(SLASH + 1), *high));
            below.into_iter().chain(above)
        });
        Self::Ranges(sorted(split.collect()))
    }

    pub(super) fn everything() -> Self {
        Self::Ranges(vec![(0, LAST)])
    }

    fn contains(&self, symbol: u32) -> bool {
        match self {
            Self::One(one) => *one == symbol,
            Self::Ranges(ranges) => {
                ranges.iter().any(|(low, high)| (*low..=*high).contains(&symbol))
            }
        }
    }

    fn meets(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::One(one), any) | (any, Self::One(one)) => any.contains(*one),
            (Self::Ranges(one), Self::Ranges(two)) => {
                one.iter().any(|(low, high)| two.iter().any(|(from, to)| low <= to && from <= high))
            }
        }
    }
}

fn sorted(mut ranges: Vec<(u32, u32)>) -> Vec<(u32, u32)> {
    ranges.sort_unstable();
    let mut merged: Vec<(u32, u32)> = Vec::new();
    for (low, high) in ranges {
        match merged.last_mut() {
            Some(last) if low <= last.1.saturating_add(1) => last.1 = last.1.max(high),
            _ => merged.push((low, high)),
        }
    }
    merged
}

/// The characters of a path. A byte that is part of none is one by itself, beyond all others.
pub(super) fn symbols(bytes: &[u8]) -> impl Iterator<Item = u32> + '_ {
    bytes.utf8_chunks().flat_map(|chunk| {
        let stray = chunk.invalid().iter().map(|byte| STRAY + u32::from(*byte));
        chunk.valid().chars().map(u32::from).chain(stray)
    })
}

pub(super) const SLASH: u32 = '/' as u32;
const STRAY: u32 = 0x11_0000;
const LAST: u32 = STRAY + 0xff;
