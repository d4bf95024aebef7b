//! What `git status --porcelain=v2 -z` prints.

use serde::{Deserialize, Serialize};

use super::GitError;

/// One line of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    /// From the top of the work tree.
    pub(super) path: Vec<u8>,
    pub(super) head: Option<Object>,
    pub(super) index: Option<Object>,
    pub(super) work: Work,
    /// A repository within the repository.
    pub(super) is_repository: bool,
}

/// A version that git knows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Object {
    pub(crate) mode: u32,
    pub(crate) id: String,
}

/// What is in the work tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    AsInIndex,
    Missing,
    /// Only the file itself can tell.
    Other,
}

/// Reads all lines, each with a zero byte at its end.
pub(super) fn read(output: &[u8]) -> Result<Vec<Line>, GitError> {
    let mut lines = Vec::new();
    let mut rest = output.split(|byte| *byte == 0);
    while let Some(line) = rest.next() {
        let read = match line.first() {
            None | Some(b'#' | b'!') => continue,
            Some(b'1') => tracked(line, 8),
            // The other name of what was renamed follows on a line of its own.
            Some(b'2') => rest.next().and_then(|_| tracked(line, 9)),
            Some(b'u') => unmerged(line),
            Some(b'?') => line.get(2..).map(untracked),
            Some(_) => None,
        };
        lines.push(read.ok_or(GitError::Unreadable { command: "status" })?);
    }
    Ok(lines)
}

/// The commit that was looked at; none where nothing has been committed yet.
pub(super) fn commit(output: &[u8]) -> Option<&str> {
    let lines = output.split(|byte| *byte == 0).take_while(|line| line.first() == Some(&b'#'));
    let named = lines.filter_map(|line| line.strip_prefix(b"# branch.oid ")).next()?;
    std::str::from_utf8(named).ok().filter(|name| *name != "(initial)")
}

/// `1 XY sub mH mI mW hH hI path`, with one field more before the path where it is renamed.
fn tracked(line: &[u8], before_path: usize) -> Option<Line> {
    let fields: Vec<&[u8]> = line.splitn(before_path + 1, |byte| *byte == b' ').collect();
    let path = fields.get(before_path)?.to_vec();
    let text = |place: usize| fields.get(place).and_then(|field| std::str::from_utf8(field).ok());
    let work = match text(1)?.as_bytes().get(1)? {
        b'.' => Work::AsInIndex,
        b'D' => Work::Missing,
        _ => Work::Other,
    };
    Some(Line {
        path,
        head: object(text(3)?, text(6)?)?,
        index: object(text(4)?, text(7)?)?,
        work,
        is_repository: text(2)?.starts_with('S'),
    })
}

/// `u XY sub m1 m2 m3 mW h1 h2 h3 path`: what is ours counts as committed.
fn unmerged(line: &[u8]) -> Option<Line> {
    let fields: Vec<&[u8]> = line.splitn(11, |byte| *byte == b' ').collect();
    let text = |place: usize| fields.get(place).and_then(|field| std::str::from_utf8(field).ok());
    let ours = object(text(4)?, text(8)?)?;
    let is_repository = text(2)?.starts_with('S');
    let path = fields.get(10)?.to_vec();
    Some(Line { path, head: ours.clone(), index: ours, work: Work::Other, is_repository })
}

fn untracked(path: &[u8]) -> Line {
    let (path, is_repository) = match path.strip_suffix(b"/") {
        Some(path) => (path, true),
        None => (path, false),
    };
    Line { path: path.to_vec(), head: None, index: None, work: Work::Other, is_repository }
}

/// The mode of a repository within the repository.
pub(super) const REPOSITORY: u32 = 0o16_0000;

/// None inside where there is no such version.
pub(super) fn object(mode: &str, id: &str) -> Option<Option<Object>> {
    let mode = u32::from_str_radix(mode, 8).ok()?;
    let is_id = id.len() >= 40 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_id.then(|| (mode != 0).then(|| Object { mode, id: id.to_owned() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "0123456789012345678901234567890123456789";
    const NONE: &str = "0000000000000000000000000000000000000000";

    #[test]
    fn every_kind_of_line() {
        let output = format!(
            "# branch.oid {ID}\0\
             1 .M N... 100644 100644 100755 {ID} {ID} a b\nc\0\
             1 A. N... 000000 100644 100644 {NONE} {ID} new\0\
             1 D. N... 100644 000000 000000 {ID} {NONE} gone\0\
             1 .M S.M. 160000 160000 160000 {ID} {ID} vendor/lib\0\
             2 R. N... 100644 100644 100644 {ID} {ID} R100 to\0from\0\
             u UU N... 100644 100644 100644 100644 {ID} {ID} {ID} both\0\
             ? loose\0? clone/\0"
        );
        let lines = read(output.as_bytes()).unwrap();
        assert_eq!(commit(output.as_bytes()), Some(ID));
        assert_eq!(commit(b"# branch.oid (initial)\0? # branch.oid x\0"), None);
        let paths: Vec<_> = lines.iter().map(|line| line.path.as_slice()).collect();
        let expected: [&[u8]; 8] =
            [b"a b\nc", b"new", b"gone", b"vendor/lib", b"to", b"both", b"loose", b"clone"];
        assert_eq!(paths, expected);
        assert_eq!(lines[0].work, Work::Other);
        assert!(lines[1].head.is_none() && lines[1].work == Work::AsInIndex);
        assert!(lines[2].index.is_none());
        assert!(lines[3].is_repository && lines[7].is_repository && !lines[6].is_repository);
    }

    #[test]
    fn what_git_does_not_print_is_an_error() {
        for output in ["x\0", "1 .M\0", "1 .M N... 1 2 3 x y path\0", "u UU\0", "2 R.\0", "?\0"] {
            assert!(read(output.as_bytes()).is_err(), "{output}");
        }
    }
}
