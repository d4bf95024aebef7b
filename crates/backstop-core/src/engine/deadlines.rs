//! The next time at which each rule may change by itself, the soonest first.

/// A binary heap in which each rule has at most one place, which can be moved. Changing one rule's
/// time costs the logarithm of the number of rules, and nothing is allocated once all have a place.
#[derive(Clone, Debug)]
pub(super) struct Deadlines<T> {
    heap: Vec<(T, u32)>,
    /// Where each rule stands in the heap.
    place: Vec<u32>,
}

const NOWHERE: u32 = u32::MAX;

impl<T: Ord + Copy> Deadlines<T> {
    pub(super) fn new(rules: usize) -> Self {
        Self { heap: Vec::with_capacity(rules), place: vec![NOWHERE; rules] }
    }

    pub(super) fn soonest(&self) -> Option<T> {
        self.heap.first().map(|(time, _)| *time)
    }

    /// A rule's time.
    pub(super) fn of(&self, rule: u32) -> Option<T> {
        let place = self.place.get(rule as usize)?;
        self.heap.get(*place as usize).map(|(time, _)| *time)
    }

    /// Sets, moves or removes a rule's time.
    pub(super) fn set(&mut self, rule: u32, time: Option<T>) {
        let place = self.place[rule as usize];
        match (time, place) {
            (None, NOWHERE) => {}
            (None, _) => self.remove(place as usize),
            (Some(time), NOWHERE) => {
                let last = self.heap.len();
                self.heap.push((time, rule));
                self.place[rule as usize] = index(last);
                self.rise(last);
            }
            (Some(time), _) => {
                self.heap[place as usize].0 = time;
                let settled = self.rise(place as usize);
                self.sink(settled);
            }
        }
    }

    /// Takes out a rule whose time has come.
    pub(super) fn pop_due(&mut self, now: T) -> Option<u32> {
        let (time, rule) = *self.heap.first()?;
        if time > now {
            return None;
        }
        self.remove(0);
        Some(rule)
    }

    fn remove(&mut self, place: usize) {
        let (_, rule) = self.heap.swap_remove(place);
        self.place[rule as usize] = NOWHERE;
        if place < self.heap.len() {
            self.place[self.heap[place].1 as usize] = index(place);
            let settled = self.rise(place);
            self.sink(settled);
        }
    }

    fn rise(&mut self, mut place: usize) -> usize {
        while place > 0 {
            let parent = (place - 1) / 2;
            if self.heap[parent] <= self.heap[place] {
                break;
            }
            self.swap(place, parent);
            place = parent;
        }
        place
    }

    fn sink(&mut self, mut place: usize) {
        loop {
            let left = 2 * place + 1;
            let smallest = (left..left + 2)
                .filter(|child| *child < self.heap.len())
                .chain([place])
                .min_by_key(|candidate| self.heap[*candidate])
                .unwrap_or(place);
            if smallest == place {
                return;
            }
            self.swap(place, smallest);
            place = smallest;
        }
    }

    fn swap(&mut self, one: usize, other: usize) {
        self.heap.swap(one, other);
        self.place[self.heap[one].1 as usize] = index(one);
        self.place[self.heap[other].1 as usize] = index(other);
    }
}

fn index(place: usize) -> u32 {
    u32::try_from(place).expect("a policy has far fewer than 2^32 rules")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn due_rules_come_out_as_from_a_plain_list(
            changes in prop::collection::vec((0u32..20, prop::option::of(0u32..100)), 0..200),
            now in 0u32..100,
        ) {
            let mut deadlines = Deadlines::new(20);
            let mut plain = [None; 20];
            for (rule, time) in changes {
                deadlines.set(rule, time);
                plain[rule as usize] = time;
                prop_assert_eq!(deadlines.soonest(), plain.iter().flatten().min().copied());
            }
            let mut due: Vec<_> = std::iter::from_fn(|| deadlines.pop_due(now)).collect();
            due.sort_unstable();
            let expected: Vec<_> =
                (0u32..20).filter(|rule| plain[*rule as usize].is_some_and(|time| time <= now)).collect();
            prop_assert_eq!(due, expected);
        }
    }
}
