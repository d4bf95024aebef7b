//! Fuzz targets without a fuzzer: seeds, and changes of them that are the same each time.

use std::panic::{RefUnwindSafe, catch_unwind};

/// Runs a target on each seed and on so many mutations of them.
///
/// # Panics
/// Where the target does, with the input that it failed on.
pub fn run(seeds: &[(String, Vec<u8>)], mutations: usize, target: impl Fn(&[u8]) + RefUnwindSafe) {
    let on = |input: &[u8], origin: &str| {
        let outcome = catch_unwind(|| target(input));
        assert!(outcome.is_ok(), "{origin}: {}", input.escape_ascii());
    };
    for (name, seed) in seeds {
        on(seed, name);
    }
    let mut random = XorShift(0x9e37_79b9_7f4a_7c15);
    for round in 0..mutations {
        let (name, seed) = &seeds[random.below(seeds.len())];
        let (_, other) = &seeds[random.below(seeds.len())];
        on(&mutated(seed, other, &mut random), &format!("{name} in round {round}"));
    }
}

/// One to four small changes.
fn mutated(seed: &[u8], other: &[u8], random: &mut XorShift) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for _ in 0..=random.below(4) {
        let place = random.below(bytes.len() + 1);
        match random.below(7) {
            0 if place < bytes.len() => bytes[place] ^= 1 << random.below(8),
            1 => bytes.truncate(place),
            2 if place < bytes.len() => {
                bytes.remove(place);
            }
            3 => bytes.insert(place, INTERESTING[random.below(INTERESTING.len())]),
            4 => {
                // The head of one and the tail of another.
                let from = random.below(other.len() + 1);
                bytes.truncate(place);
                bytes.extend_from_slice(&other[from..]);
            }
            5 => {
                let end = (place + random.below(40)).min(bytes.len());
                let copied = bytes[place..end].to_vec();
                let to = random.below(bytes.len() + 1);
                bytes.splice(to..to, copied);
            }
            _ => {
                let words = ["-1", "1e999", "18446744073709551616", "NaN", "null", "\"\"", "[[]]"];
                let word = words[random.below(words.len())];
                bytes.splice(place..place, word.bytes());
            }
        }
    }
    bytes.truncate(LONGEST);
    bytes
}

/// Bytes that mean something in one of the syntaxes.
const INTERESTING: &[u8] = b"\x00\xff\x80\x1b\n\r\t \"'\\{}[]()<>:=,.#&*!|-+%0159eE_@~`";
const LONGEST: usize = 4_096;

struct XorShift(u64);

impl XorShift {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % bound.max(1) as u64).expect("it is below a usize")
    }
}
