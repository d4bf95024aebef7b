//! Names that nobody else gives.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};

/// A new name of letters and digits. The keys of a hash are drawn by the system's chance, each time
/// anew.
pub(crate) fn name() -> String {
    let half = || RandomState::new().build_hasher().finish();
    let now = crate::clock::now().as_nanos();
    format!("{now:x}{:016x}{:016x}", half(), half())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::name;

    #[test]
    fn no_name_comes_twice() {
        let names: BTreeSet<String> = (0..1_000).map(|_| name()).collect();
        assert_eq!(names.len(), 1_000);
        assert!(names.iter().all(|name| name.bytes().all(|byte| byte.is_ascii_alphanumeric())));
    }
}
