//! Takes endings off English words, so that `testing`, `tested` and `tests` are one: the algorithm
//! that is known as Porter2.

/// The stem of a word in lower case. What is not plain English letters stays as it is.
pub fn stem(word: &str) -> String {
    let is_plain = word.bytes().all(|byte| byte.is_ascii_lowercase());
    if !is_plain || word.len() <= 2 {
        return word.to_owned();
    }
    if let Some((_, stem)) = EXCEPTIONS.iter().find(|(exception, _)| *exception == word) {
        return (*stem).to_owned();
    }
    let mut word = Word::new(word);
    word.drop_plural();
    if !UNTOUCHED.iter().any(|exception| word.is(exception)) {
        word.drop_past_and_progressive();
        word.turn_final_y();
        word.replace_first_of(SECOND_STEP);
        word.replace_first_of(THIRD_STEP);
        word.drop_last_suffix();
        word.tidy();
    }
    word.letters.into_iter().map(|letter| char::from(letter.to_ascii_lowercase())).collect()
}

/// A word while its endings come off. A `y` that is a consonant is written `Y`.
struct Word {
    letters: Vec<u8>,
    /// Where the regions begin in which endings may be taken off.
    r1: usize,
    r2: usize,
}

/// An ending, what takes its place, and where it must stand.
type Replacement = (&'static str, &'static str, Needs);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Needs {
    R1,
    R2,
    /// Before it stands an `l`.
    AfterL,
    /// Before it stands a letter that `li` may follow.
    AfterLiLetter,
}

impl Word {
    fn new(word: &str) -> Self {
        let mut letters = word.as_bytes().to_vec();
        for at in 0..letters.len() {
            if letters[at] == b'y' && (at == 0 || is_vowel(letters[at - 1])) {
                letters[at] = b'Y';
            }
        }
        let special = ["gener", "commun", "arsen"].iter().find(|start| word.starts_with(**start));
        let r1 =
            special.map_or_else(|| after_vowel_and_consonant(&letters, 0), |start| start.len());
        let r2 = after_vowel_and_consonant(&letters, r1);
        Self { letters, r1, r2 }
    }

    fn is(&self, word: &str) -> bool {
        self.letters == word.as_bytes()
    }

    fn ends(&self, ending: &str) -> bool {
        self.letters.ends_with(ending.as_bytes())
    }

    /// What stands before an ending.
    fn before(&self, ending: &str) -> &[u8] {
        &self.letters[..self.letters.len() - ending.len()]
    }

    fn replace(&mut self, ending: &str, by: &str) {
        self.letters.truncate(self.letters.len() - ending.len());
        self.letters.extend_from_slice(by.as_bytes());
    }

    fn drop_plural(&mut self) {
        if self.ends("sses") {
            self.replace("sses", "ss");
        } else if self.ends("ied") || self.ends("ies") {
            let by = if self.letters.len() > 4 { "i" } else { "ie" };
            self.replace("ies", by);
        } else if self.ends("s") && !self.ends("us") && !self.ends("ss") {
            let before = self.before("s");
            if before[..before.len().saturating_sub(1)].iter().any(|letter| is_vowel(*letter)) {
                self.replace("s", "");
            }
        }
    }

    fn drop_past_and_progressive(&mut self) {
        for ending in ["eedly", "eed"] {
            if self.ends(ending) {
                if self.before(ending).len() >= self.r1 {
                    self.replace(ending, "ee");
                }
                return;
            }
        }
        let Some(ending) = ["ingly", "edly", "ing", "ed"].into_iter().find(|end| self.ends(end))
        else {
            return;
        };
        if !self.before(ending).iter().any(|letter| is_vowel(*letter)) {
            return;
        }
        self.replace(ending, "");
        if ["at", "bl", "iz"].iter().any(|end| self.ends(end)) {
            self.letters.push(b'e');
        } else if self.ends_double() {
            self.letters.pop();
        } else if self.letters.len() <= self.r1 && ends_in_short_syllable(&self.letters) {
            self.letters.push(b'e');
        }
    }

    fn ends_double(&self) -> bool {
        match self.letters.as_slice() {
            [.., one, two] => one == two && b"bdfgmnprt".contains(two),
            _ => false,
        }
    }

    fn turn_final_y(&mut self) {
        if let [_, .., before, last @ (b'y' | b'Y')] = self.letters.as_mut_slice()
            && !is_vowel(*before)
        {
            *last = b'i';
        }
    }

    /// Looks for the longest ending of a table; only that one may be replaced.
    fn replace_first_of(&mut self, table: &[Replacement]) {
        let Some((ending, by, needs)) = table.iter().find(|(ending, ..)| self.ends(ending)) else {
            return;
        };
        let before = self.before(ending);
        let last = before.last().copied().unwrap_or_default();
        let fits = before.len() >= self.r1
            && match needs {
                Needs::R1 => true,
                Needs::R2 => before.len() >= self.r2,
                Needs::AfterL => last == b'l',
                Needs::AfterLiLetter => b"cdeghkmnrt".contains(&last),
            };
        if fits {
            self.replace(ending, by);
        }
    }

    fn drop_last_suffix(&mut self) {
        let Some(ending) = FOURTH_STEP.iter().find(|ending| self.ends(ending)) else { return };
        let before = self.before(ending);
        let fits = *ending != "ion" || matches!(before.last(), Some(b's' | b't'));
        if before.len() >= self.r2 && fits {
            self.replace(ending, "");
        }
    }

    fn tidy(&mut self) {
        let before = &self.letters[..self.letters.len().saturating_sub(1)];
        let length = before.len();
        let drops = match self.letters.last() {
            Some(b'e') => length >= self.r2 || length >= self.r1 && !ends_in_short_syllable(before),
            Some(b'l') => length >= self.r2 && before.last() == Some(&b'l'),
            _ => false,
        };
        if drops {
            self.letters.pop();
        }
    }
}

fn is_vowel(letter: u8) -> bool {
    b"aeiouy".contains(&letter)
}

/// The place behind the first consonant that follows a vowel.
fn after_vowel_and_consonant(letters: &[u8], from: usize) -> usize {
    let pairs = letters.get(from..).unwrap_or_default().windows(2);
    let found = pairs.map(|pair| is_vowel(pair[0]) && !is_vowel(pair[1])).position(|found| found);
    found.map_or(letters.len(), |at| from + at + 2)
}

fn ends_in_short_syllable(letters: &[u8]) -> bool {
    match letters {
        [one, two] => is_vowel(*one) && !is_vowel(*two),
        [.., one, two, three] => {
            !is_vowel(*one) && is_vowel(*two) && !is_vowel(*three) && !b"wxY".contains(three)
        }
        _ => false,
    }
}

/// Longer endings before those that they end with.
const SECOND_STEP: &[Replacement] = &[
    ("ational", "ate", Needs::R1),
    ("fulness", "ful", Needs::R1),
    ("iveness", "ive", Needs::R1),
    ("ization", "ize", Needs::R1),
    ("ousness", "ous", Needs::R1),
    ("biliti", "ble", Needs::R1),
    ("lessli", "less", Needs::R1),
    ("tional", "tion", Needs::R1),
    ("alism", "al", Needs::R1),
    ("aliti", "al", Needs::R1),
    ("ation", "ate", Needs::R1),
    ("entli", "ent", Needs::R1),
    ("fulli", "ful", Needs::R1),
    ("iviti", "ive", Needs::R1),
    ("ousli", "ous", Needs::R1),
    ("abli", "able", Needs::R1),
    ("alli", "al", Needs::R1),
    ("anci", "ance", Needs::R1),
    ("ator", "ate", Needs::R1),
    ("enci", "ence", Needs::R1),
    ("izer", "ize", Needs::R1),
    ("bli", "ble", Needs::R1),
    ("ogi", "og", Needs::AfterL),
    ("li", "", Needs::AfterLiLetter),
];

const THIRD_STEP: &[Replacement] = &[
    ("ational", "ate", Needs::R1),
    ("tional", "tion", Needs::R1),
    ("alize", "al", Needs::R1),
    ("ative", "", Needs::R2),
    ("icate", "ic", Needs::R1),
    ("iciti", "ic", Needs::R1),
    ("ical", "ic", Needs::R1),
    ("ness", "", Needs::R1),
    ("ful", "", Needs::R1),
];

const FOURTH_STEP: &[&str] = &[
    "ement", "able", "ance", "ence", "ible", "ment", "ant", "ate", "ent", "ion", "ism", "iti",
    "ive", "ize", "ous", "al", "er", "ic",
];

const EXCEPTIONS: &[(&str, &str)] = &[
    ("andes", "andes"),
    ("atlas", "atlas"),
    ("bias", "bias"),
    ("cosmos", "cosmos"),
    ("dying", "die"),
    ("early", "earli"),
    ("gently", "gentl"),
    ("howe", "howe"),
    ("idly", "idl"),
    ("lying", "lie"),
    ("news", "news"),
    ("only", "onli"),
    ("singly", "singl"),
    ("skies", "sky"),
    ("skis", "ski"),
    ("sky", "sky"),
    ("tying", "tie"),
    ("ugly", "ugli"),
];

const UNTOUCHED: &[&str] =
    &["inning", "outing", "canning", "herring", "earring", "proceed", "exceed", "succeed"];

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    // From the sample vocabulary that is published with the algorithm, and its text.
    #[rstest]
    #[case(&["consign", "consigned", "consigning", "consignment"], "consign")]
    #[case(&["consist", "consisted", "consistency", "consistent", "consistently"], "consist")]
    #[case(&["consolation", "consolations", "console", "consoled"], "consol")]
    #[case(&["consolidate", "consolidated", "consolidating"], "consolid")]
    #[case(&["conspicuous", "conspicuously"], "conspicu")]
    #[case(&["conspiracy"], "conspiraci")]
    #[case(&["constance", "constancy"], "constanc")]
    #[case(&["consolatory"], "consolatori")]
    #[case(&["knack", "knacks"], "knack")]
    #[case(&["knackeries"], "knackeri")]
    #[case(&["knave", "knaves"], "knave")]
    #[case(&["knavish"], "knavish")]
    #[case(&["knead", "kneaded", "kneading"], "knead")]
    #[case(&["kneel", "kneeled", "kneeling", "kneels"], "kneel")]
    #[case(&["knightly", "knights"], "knight")]
    #[case(&["knitted", "knitting"], "knit")]
    #[case(&["ties", "tie"], "tie")]
    #[case(&["cries", "cry"], "cri")]
    #[case(&["gas"], "gas")]
    #[case(&["gaps"], "gap")]
    #[case(&["kiwis"], "kiwi")]
    #[case(&["luxuriate", "luxuriated"], "luxuri")]
    #[case(&["hopping", "hopped"], "hop")]
    #[case(&["hoping", "hoped", "hope"], "hope")]
    #[case(&["say"], "say")]
    #[case(&["by"], "by")]
    #[case(&["generate", "generates", "generating", "generated"], "generat")]
    #[case(&["general", "generally"], "general")]
    #[case(&["communism"], "communism")]
    #[case(&["proceed", "proceeds"], "proceed")]
    #[case(&["skis"], "ski")]
    #[case(&["expires", "expired", "expiring"], "expir")]
    #[case(&["refused", "refuses"], "refus")]
    #[case(&["rational", "rationalize"], "ration")]
    #[case(&["formality", "formalities"], "formal")]
    #[case(&["apology"], "apolog")]
    #[case(&["controlled", "control"], "control")]
    fn words_of_one_family_have_one_stem(#[case] words: &[&str], #[case] expected: &str) {
        for word in words {
            assert_eq!(stem(word), expected, "{word}");
        }
    }

    #[test]
    fn what_is_no_plain_word_stays() {
        for word in ["utf8", "größen", "", "as", "x"] {
            assert_eq!(stem(word), word);
        }
    }

    proptest::proptest! {
        #[test]
        fn a_stem_is_never_empty_nor_longer_by_more_than_a_letter(word in "[a-z]{1,20}") {
            let stem = stem(&word);
            proptest::prop_assert!(!stem.is_empty() && stem.len() <= word.len() + 1);
        }
    }
}
