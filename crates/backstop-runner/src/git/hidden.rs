//! Files that git was told not to look at (`--assume-unchanged`, `--skip-worktree`): what becomes of
//! them shows in no status.

use super::GitError;
use super::status::{Line, Work, object};

/// Lists all tracked files with what git was told about them.
pub(super) const LIST: &[&str] = &["ls-files", "-v", "--stage", "-z", "--full-name", ":/"];

/// Whether an index hides any file, by its bytes. To list a hundred thousand files takes git as long
/// as half a status, and hardly any index hides one. None where its format is another than usual.
pub(super) fn hides(index: &[u8], id_bytes: usize) -> Option<bool> {
    let short = |at: usize| Some(u16::from_be_bytes(index.get(at..at + 2)?.try_into().ok()?));
    let long = |at: usize| Some(u32::from_be_bytes(index.get(at..at + 4)?.try_into().ok()?));
    if index.get(..4)? != b"DIRC" || !(2..=3).contains(&long(4)?) {
        return None;
    }
    let mut entry = HEADER;
    for _ in 0..long(8)? {
        let flags_at = entry + FILE_STATE + id_bytes;
        let flags = short(flags_at)?;
        let mut name = flags_at + 2;
        if flags & EXTENDED != 0 {
            if short(name)? & SKIP_WORKTREE != 0 {
                return Some(true);
            }
            name += 2;
        }
        if flags & ASSUME_VALID != 0 {
            return Some(true);
        }
        let length = match usize::from(flags & NAME_LENGTH) {
            length if length < usize::from(NAME_LENGTH) => length,
            _ => index.get(name..)?.iter().position(|byte| *byte == 0)?,
        };
        // At least one zero follows the name, and an entry is a multiple of eight bytes long.
        entry += (name + length - entry + 8) & !7;
    }
    // The rest of a split index is elsewhere.
    if index.get(entry..entry + 4)? == b"link" { None } else { Some(false) }
}

/// The hidden files of such a list.
pub(super) fn read(output: &[u8]) -> Result<Vec<Line>, GitError> {
    let lines = output.split(|byte| *byte == 0).filter(|line| !line.is_empty());
    lines
        .filter(|line| line[0] == b'S' || line[0].is_ascii_lowercase())
        .map(|line| parse(line).ok_or(GitError::Unreadable { command: "ls-files" }))
        .collect()
}

/// `T mode id stage<tab>path`.
fn parse(line: &[u8]) -> Option<Line> {
    let tab = line.iter().position(|byte| *byte == b'\t')?;
    let fields: Vec<&str> = std::str::from_utf8(&line[..tab]).ok()?.split(' ').collect();
    let [_, mode, id, _] = fields[..] else { return None };
    let version = object(mode, id)?;
    Some(Line {
        path: line[tab + 1..].to_vec(),
        head: version.clone(),
        index: version,
        work: Work::Other,
        is_repository: mode == "160000",
    })
}

const HEADER: usize = 12;
/// Times, device, inode, mode, owner and size.
const FILE_STATE: usize = 40;
const ASSUME_VALID: u16 = 0x8000;
const EXTENDED: u16 = 0x4000;
const SKIP_WORKTREE: u16 = 0x4000;
const NAME_LENGTH: u16 = 0x0FFF;
