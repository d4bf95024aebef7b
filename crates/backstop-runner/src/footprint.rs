//! Memory that is given back while a run is only watched.

use std::fs;
use std::io;

use rustix::mm::{Advice, madvise};

/// Takes the program's code out of this process's memory. What is still needed comes back page by
/// page when it is run, from the system's cache of the file; what only the start needed stays away.
///
/// A run that waits for hours should not hold what it used for a moment.
///
/// # Errors
/// The system does not tell where the code is, or refuses.
pub fn shed_code() -> io::Result<()> {
    let program = fs::read_link("/proc/self/exe")?;
    let maps = fs::read_to_string("/proc/self/maps")?;
    for (start, length) in maps.lines().filter_map(|line| code_of(line, &program.to_string_lossy()))
    {
        shed(start, length)?;
    }
    Ok(())
}

/// The place of a mapping that holds code of the program, and can't hold anything that was written.
fn code_of(line: &str, program: &str) -> Option<(usize, usize)> {
    let (range, rest) = line.split_once(' ')?;
    let is_code = rest.starts_with("r-xp ") && rest.ends_with(program);
    let (start, end) = range.split_once('-').filter(|_| is_code)?;
    let start = usize::from_str_radix(start, 16).ok()?;
    let end = usize::from_str_radix(end, 16).ok()?;
    Some((start, end.checked_sub(start)?))
}

#[expect(unsafe_code, reason = "advice on memory is given by its address")]
fn shed(start: usize, length: usize) -> io::Result<()> {
    // SAFETY: the mapping is the program's own file, which can't be written while it runs, mapped
    // read-only: each page that is needed again is read from there, the same as it was.
    Ok(unsafe { madvise(start as *mut _, length, Advice::LinuxDontNeed) }?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_code_of_the_program_itself_is_meant() {
        let program = "/usr/bin/back stop";
        let line = |rights: &str, path: &str| {
            format!("55d0c0586000-55d0c1c15000 {rights} 00586000 fe:00 1234       {path}")
        };
        let place = (0x55d0_c058_6000, 0x168_f000);
        assert_eq!(code_of(&line("r-xp", program), program), Some(place));
        for (rights, path) in
            [("r--p", program), ("rw-p", program), ("rwxp", program), ("r-xp", "/lib/libc.so.6")]
        {
            assert_eq!(code_of(&line(rights, path), program), None, "{rights} {path}");
        }
        assert_eq!(code_of("", program), None);
    }

    #[test]
    fn what_is_shed_is_there_again_when_it_is_needed() {
        let resident = || {
            let status = fs::read_to_string("/proc/self/status").expect("a status");
            let line = status.lines().find(|line| line.starts_with("RssFile:")).expect("a line");
            line.split_whitespace().nth(1).expect("a figure").parse::<u64>().expect("a number")
        };
        let before = resident();
        shed_code().expect("the code can be shed");
        assert!(resident() < before, "something was shed");
        assert_eq!(code_of("", ""), None, "code runs on");
    }
}
