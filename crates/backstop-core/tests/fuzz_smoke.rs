//! The fuzz targets on their seeds and on a few thousand mutations of them, the same each time.

use std::path::{Path, PathBuf};

use backstop_core::testing::fuzz;

#[test]
fn policies_are_loaded_or_refused() {
    smoke("policy", fuzz::policy, 1_500);
}

#[test]
fn events_are_decoded_or_refused() {
    smoke("events", fuzz::events, 1_500);
}

#[test]
fn expressions_are_compiled_or_refused() {
    smoke("expression", fuzz::expression, 4_000);
}

#[test]
fn normalising_twice_changes_nothing() {
    smoke("normalise", fuzz::normalise, 4_000);
}

/// Runs a target on each seed and on mutations of them.
fn smoke(name: &str, target: fn(&[u8]), mutations: usize) {
    let seeds = seeds(name);
    assert!(seeds.len() >= 4, "the corpus of {name} is missing");
    for (path, seed) in &seeds {
        run(target, seed, &path.display().to_string());
    }
    let mut random = XorShift(0x9e37_79b9_7f4a_7c15);
    for round in 0..mutations {
        let (path, seed) = &seeds[random.below(seeds.len())];
        let (_, other) = &seeds[random.below(seeds.len())];
        let input = mutated(seed, other, &mut random);
        run(target, &input, &format!("{} in round {round}", path.display()));
    }
}

/// Runs a target, and on a failure shows the input that it failed on.
fn run(target: fn(&[u8]), input: &[u8], origin: &str) {
    let outcome = std::panic::catch_unwind(|| target(input));
    assert!(outcome.is_ok(), "{origin}: {}", input.escape_ascii());
}

fn seeds(name: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(name);
    let entries = folder.read_dir().expect("the corpus lies beside the tests");
    let mut paths: Vec<_> =
        entries.map(|entry| entry.expect("the corpus can be listed").path()).collect();
    paths.sort();
    paths.into_iter().map(|path| (path.clone(), read(&path))).collect()
}

#[expect(clippy::disallowed_methods, reason = "the fence is around the core, not its tests")]
fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).expect("a seed can be read")
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
