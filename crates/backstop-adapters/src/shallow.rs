//! JSON without what is nested too deep to be read.

/// The same JSON, but with nothing in place of lists and objects that are nested deeper than anybody
/// looks; none if there are none. What an agent hands to one tool must not hide its record.
pub(crate) fn shallow(json: &[u8]) -> Option<Vec<u8>> {
    let mut is_deep = false;
    let mut kept = Vec::with_capacity(json.len());
    let (mut in_text, mut escaped, mut depth) = (false, false, 0_usize);
    for &byte in json {
        let mut is_kept = depth <= DEEPEST;
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b'{' | b'[' if !in_text => {
                depth += 1;
                is_kept = depth <= DEEPEST;
                if depth == DEEPEST + 1 {
                    is_deep = true;
                    kept.extend_from_slice(b"null");
                }
            }
            b'}' | b']' if !in_text => depth = depth.saturating_sub(1),
            _ => {}
        }
        if is_kept {
            kept.push(byte);
        }
    }
    is_deep.then_some(kept)
}

/// Half of what the parser would read.
const DEEPEST: usize = 64;
