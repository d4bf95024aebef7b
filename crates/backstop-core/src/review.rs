//! What reviewers ask for, compared: the same requests in other words' clothes are the same.

use xxhash_rust::xxh3::xxh3_64;

/// A hash of requests in which case, white space, punctuation, line numbers and order do not count.
pub fn requests_hash(requests: &[String]) -> String {
    let mut plain: Vec<String> = requests.iter().map(|request| plain(request)).collect();
    plain.retain(|request| !request.is_empty());
    plain.sort();
    plain.dedup();
    format!("{:016x}", xxh3_64(plain.join("\n").as_bytes()))
}

/// The words of a request in lower case, without the numbers of lines.
fn plain(request: &str) -> String {
    let mut words = Words { plain: String::with_capacity(request.len()), ..Words::default() };
    let mut gap_from = 0;
    let mut word_from = None;
    for (at, character) in request.char_indices() {
        match (character.is_alphanumeric(), word_from) {
            (true, None) => word_from = Some(at),
            (false, Some(from)) => {
                words.push(&request[gap_from..from], &request[from..at]);
                (gap_from, word_from) = (at, None);
            }
            _ => {}
        }
    }
    if let Some(from) = word_from {
        words.push(&request[gap_from..from], &request[from..]);
    }
    words.plain
}

#[derive(Default)]
struct Words {
    plain: String,
    /// The word before says that a number of a line follows, or was one.
    in_place: bool,
}

impl Words {
    fn push(&mut self, gap: &str, word: &str) {
        let word = word.to_lowercase();
        let follows_colon = gap == ":" && !self.plain.is_empty();
        let is_short_form = word.strip_prefix('l').is_some_and(is_number);
        if is_short_form || is_number(&word) && (follows_colon || self.in_place) {
            self.in_place = true;
            return;
        }
        let joins_two_places = self.in_place && ["and", "to"].contains(&word.as_str());
        let names_a_place = PLACES.contains(&word.as_str());
        self.in_place = names_a_place || joins_two_places;
        // `line 12` and `12` are the same place, said in two ways.
        if !names_a_place && !joins_two_places {
            if !self.plain.is_empty() {
                self.plain.push(' ');
            }
            self.plain.push_str(&word);
        }
    }
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}

const PLACES: [&str; 6] = ["line", "lines", "ln", "col", "column", "row"];

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn hash(requests: &[&str]) -> String {
        requests_hash(&requests.iter().map(|&request| request.to_owned()).collect::<Vec<_>>())
    }

    #[rstest]
    #[case::case_and_marks(&["Add a test!"], &["add  a `test`"])]
    #[case::order(&["one", "two"], &["Two.", "one"])]
    #[case::twice(&["one", "one"], &["one"])]
    #[case::empty_items(&["one", " - "], &["one"])]
    #[case::place(&["src/a.rs:12: unused"], &["src/a.rs:340:7 unused"])]
    #[case::line(&["see line 12, unused"], &["see lines 14-17: unused"])]
    #[case::lines(&["see lines 1 to 4"], &["see line 9"])]
    #[case::link(&["a.rs#L12 is wrong"], &["a.rs#L15-L20 is wrong"])]
    #[case::line_ends(&["add\r\na test"], &["add a test"])]
    fn the_same_requests_have_the_same_hash(#[case] one: &[&str], #[case] other: &[&str]) {
        assert_eq!(hash(one), hash(other));
    }

    #[rstest]
    #[case(&["add a test"], &["add two tests"])]
    #[case(&["return 404"], &["return 500"])]
    #[case(&["at most 3"], &["at most 30"])]
    #[case(&["a b"], &["a", "b"])]
    #[case(&["naïve"], &["naive"])]
    #[case(&[], &["one"])]
    fn other_requests_have_another(#[case] one: &[&str], #[case] other: &[&str]) {
        assert_ne!(hash(one), hash(other));
    }
}
