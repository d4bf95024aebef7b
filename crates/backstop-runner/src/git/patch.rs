//! The text that lies between two states of the work.

use std::future::pending;

use super::{GitError, Repository, Workbench, failure};
use crate::tree::Tree;

impl Repository {
    /// The changes between two trees as a patch without context, as far as it fits.
    pub(crate) async fn patch(
        &self,
        tree: &Tree,
        bench: &Workbench,
        from: &str,
        to: &str,
        most: usize,
    ) -> Result<String, GitError> {
        let words =
            ["diff", "--no-color", "--no-ext-diff", "--no-textconv", "--unified=0", from, to, "--"];
        let mut command = self.command(&words, &bench.variables());
        command.output_cap = most;
        let outcome = command.run(tree, pending()).await;
        if !outcome.is_success() {
            return Err(failure(&words, &outcome));
        }
        Ok(String::from_utf8_lossy(&outcome.stdout).into_owned())
    }
}
