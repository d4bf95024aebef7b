//! Notices an answer that says one phrase over and over, while it comes.
//!
//! A model that has lost its thread writes the same sentence until its output is full. Code and
//! lists repeat themselves too, so what counts is a phrase that comes ten times close together and
//! leaves room for hardly anything else; code blocks are left out.

/// Follows a text in a fixed amount of memory, whatever its length and wherever it is cut.
#[derive(Clone, Debug)]
pub struct Chant {
    /// The last bytes, and the hash over them.
    window: [u8; PHRASE],
    /// Where the oldest of them stands.
    oldest: usize,
    hash: u64,
    /// Bytes that were taken in, and how many since the text last began anew.
    position: u64,
    filled: u64,
    /// Phrases that had not been there shortly before.
    novel: u64,
    phrases: Box<[Phrase; PLACES]>,
    line: Line,
    /// The latest byte, and how often it came in a row.
    latest: (u8, u32),
}

/// A phrase that was seen.
#[derive(Clone, Copy, Debug, Default)]
struct Phrase {
    hash: u64,
    count: u32,
    first: u64,
    last: u64,
    /// What was novel until its first time.
    novel: u64,
}

/// Where in the text the next byte stands.
#[derive(Clone, Copy, Debug, Default)]
struct Line {
    /// Only blanks have come on it.
    is_new: bool,
    /// So many of the marks of a code block stand at its beginning.
    mark: (u8, u8),
    in_code: bool,
}

impl Chant {
    pub fn new() -> Self {
        Self {
            window: [0; PHRASE],
            oldest: 0,
            hash: 0,
            position: 0,
            filled: 0,
            novel: 0,
            phrases: Box::new([Phrase::default(); PLACES]),
            line: Line { is_new: true, ..Line::default() },
            latest: (b'\n', 0),
        }
    }

    /// The phrase that this text says over and over, if it does.
    pub fn find(text: &str) -> Option<String> {
        // Hardly any text does, and that is quickly seen.
        let worth_reading = text.len() >= SHORTEST && repeats(text.as_bytes());
        if worth_reading { Self::new().follow(text) } else { None }
    }

    /// Takes in what comes next of a text, and answers with the phrase that it says over and over,
    /// once. After that it begins anew.
    pub fn follow(&mut self, text: &str) -> Option<String> {
        let mut found = None;
        for byte in text.bytes() {
            if self.line.follow(byte) {
                self.restart();
            }
            let byte = if byte.is_ascii_whitespace() { b' ' } else { byte };
            if !self.line.in_code && self.takes(byte) && self.push(byte) && found.is_none() {
                found = Some(self.phrase());
                self.restart();
            }
        }
        found
    }

    /// What was said until now counts no more: no phrase from before is near enough.
    fn restart(&mut self) {
        self.filled = 0;
        self.position += REACH + 1;
    }

    /// Whether the byte counts: of blanks and of marks that draw a line a few are as good as many.
    fn takes(&mut self, byte: u8) -> bool {
        let (latest, count) = self.latest;
        self.latest = if byte == latest { (byte, count.saturating_add(1)) } else { (byte, 1) };
        match byte {
            b' ' => self.latest.1 == 1,
            mark if mark.is_ascii_punctuation() => self.latest.1 <= 3,
            _ => true,
        }
    }

    fn push(&mut self, byte: u8) -> bool {
        let gone = if self.filled >= LENGTH { u64::from(self.window[self.oldest]) + 1 } else { 0 };
        if self.filled == 0 {
            self.hash = 0;
        }
        self.window[self.oldest] = byte;
        self.oldest = (self.oldest + 1) % PHRASE;
        self.hash = self
            .hash
            .wrapping_mul(BASE)
            .wrapping_add(u64::from(byte) + 1)
            .wrapping_sub(gone.wrapping_mul(BASE_OF_GONE));
        self.position += 1;
        self.filled += 1;
        self.filled >= LENGTH && self.see()
    }

    /// Looks the latest phrase up. Whether it is the one that makes a chant.
    fn see(&mut self) -> bool {
        let mixed = self.hash.wrapping_mul(MIX) >> (u64::BITS - PLACES.trailing_zeros());
        let place = usize::try_from(mixed).unwrap_or_default();
        let known = &mut self.phrases[place];
        let now = self.position;
        let is_near = known.count > 0 && now - known.last <= REACH;
        if is_near && known.hash == self.hash {
            // What overlaps itself was not said again.
            if now - known.last < LENGTH {
                return false;
            }
            known.count += 1;
            known.last = now;
            let novel = self.novel - known.novel;
            return known.count >= TIMES && novel * 2 <= now - known.first;
        }
        self.novel += 1;
        // One that has come twice is worth more than one that will most likely never come again.
        if !is_near || known.count < 2 {
            *known = Phrase { hash: self.hash, count: 1, first: now, last: now, novel: self.novel };
        }
        false
    }

    /// The latest phrase, in words.
    fn phrase(&self) -> String {
        let mut bytes = self.window;
        bytes.rotate_left(self.oldest);
        let text = String::from_utf8_lossy(&bytes);
        text.trim_matches(|c: char| c == char::REPLACEMENT_CHARACTER || c.is_whitespace())
            .to_owned()
    }
}

impl Default for Chant {
    fn default() -> Self {
        Self::new()
    }
}

impl Line {
    /// Whether a code block begins or ends here.
    fn follow(&mut self, byte: u8) -> bool {
        match byte {
            b'\n' => {
                *self = Self { is_new: true, in_code: self.in_code, ..Self::default() };
            }
            b' ' | b'\t' | b'\r' if self.mark.1 == 0 => {}
            b'`' | b'~' if self.is_new && (self.mark.1 == 0 || self.mark.0 == byte) => {
                self.mark = (byte, self.mark.1 + 1);
                if self.mark.1 == 3 {
                    self.is_new = false;
                    self.in_code = !self.in_code;
                    return true;
                }
            }
            _ => self.is_new = false,
        }
        false
    }
}

/// Whether any of the phrases that are looked at comes again soon. Of a text that says one over and
/// over, most do.
fn repeats(text: &[u8]) -> bool {
    (0..text.len().saturating_sub(2 * PHRASE)).step_by(PROBE_EVERY).any(|start| {
        let phrase = &text[start..start + PHRASE];
        let near = &text[start + 1..text.len().min(start + PHRASE + REACH as usize)];
        // A few bytes tell nearly all others apart.
        near.windows(PHRASE).any(|other| other[..8] == phrase[..8] && other == phrase)
    })
}

/// How many bytes a phrase has.
const PHRASE: usize = 64;
const LENGTH: u64 = PHRASE as u64;
/// How often it must come.
const TIMES: u32 = 10;
/// How near to the last time: five times its length.
const REACH: u64 = 5 * LENGTH;
/// A shorter text can't say a phrase often enough.
const SHORTEST: usize = PHRASE * TIMES as usize;
/// Where a text is looked at before it is read.
const PROBE_EVERY: usize = 160;
/// Places for phrases: several for each that can be near enough.
const PLACES: usize = 2048;

const BASE: u64 = 0x9e37_79b9_7f4a_7c15;
const MIX: u64 = 0xd6e8_feb8_6659_fd93;
/// The weight that the oldest byte has when it leaves.
const BASE_OF_GONE: u64 = {
    let mut power = 1_u64;
    let mut left = PHRASE;
    while left > 0 {
        power = power.wrapping_mul(BASE);
        left -= 1;
    }
    power
};

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    const SENTENCE: &str = "I will now look at the file again to see what is wrong with it. ";

    fn numbered(line: impl Fn(usize) -> String) -> String {
        (0..60).map(line).collect()
    }

    #[rstest]
    #[case::a_sentence(&SENTENCE.repeat(500))]
    #[case::after_an_answer(&format!("The tests fail in three places.\n\n{}", SENTENCE.repeat(20)))]
    #[case::a_word(&"no ".repeat(500))]
    #[case::of_three_sentences(&format!("{SENTENCE}Then I read it once more.\nIt has changed.\n").repeat(12))]
    #[case::in_another_script(&"もう一度ファイルを確認してから修正します。".repeat(30))]
    #[case::after_code(&format!("```rust\nfn main() {{}}\n```\n{}", SENTENCE.repeat(20)))]
    #[case::of_letters(&"a".repeat(900))]
    fn one_phrase_over_and_over(#[case] text: &str) {
        assert!(Chant::find(text).is_some());
        // Wherever it is cut.
        let mut chant = Chant::new();
        let mut found = 0;
        for part in text.split_inclusive(|c: char| c.is_whitespace() || c == '。') {
            found += usize::from(chant.follow(part).is_some());
        }
        assert!(found > 0);
    }

    #[rstest]
    #[case::nothing("")]
    #[case::a_few_times(&SENTENCE.repeat(9))]
    #[case::in_a_code_block(&format!("```\n{}\n```\n", format!("{SENTENCE}\n").repeat(100)))]
    #[case::in_an_open_code_block(&format!("~~~text\n{}", format!("{SENTENCE}\n").repeat(100)))]
    #[case::a_line_that_is_drawn(&format!("{}\n", "-".repeat(5000)))]
    #[case::blanks(&" ".repeat(5000))]
    #[case::a_list_of_files(&numbered(|number| format!(
        "- `/home/user/projects/shop/packages/frontend/src/components/checkout/part_{number}.tsx`\n"
    )))]
    #[case::a_table(&numbered(|number| format!("| run {number} | passed | {} s |\n", number * 37 % 101)))]
    #[case::numbers(&numbered(|number| format!("{}, ", number * number)))]
    fn other_texts_are_none(#[case] text: &str) {
        assert_eq!(Chant::find(text), None);
    }

    #[test]
    fn the_phrase_is_told() {
        let phrase = Chant::find(&SENTENCE.repeat(12)).unwrap();
        assert!(SENTENCE.repeat(2).contains(&phrase), "{phrase}");
    }

    #[test]
    fn prose_is_none() {
        let prose = include_str!("chant.rs");
        assert_eq!(Chant::find(prose), None);
        let mut numbered = String::new();
        for (number, line) in prose.lines().enumerate() {
            let _ = writeln!(numbered, "{number}. {line}");
        }
        assert_eq!(Chant::find(&numbered), None);
    }

    proptest! {
        #[test]
        fn any_text_in_any_parts(texts in prop::collection::vec(any::<String>(), 0..20)) {
            let mut chant = Chant::new();
            for text in &texts {
                chant.follow(text);
            }
        }
    }
}
