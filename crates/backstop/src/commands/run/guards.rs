//! Guards that flags lift for one run.

use backstop_core::policy::Lifted;

use super::Layered;
use crate::args::GuardFlags;
use crate::terminal::Terminal;

/// Lifts the guards in the policy, so that hooks know of it too. A flag for a guard that the policy
/// does not have is worth a line: whoever wrote it thought that there was one.
pub(super) fn lifted(flags: GuardFlags, source: &mut Layered, terminal: &mut Terminal) -> Lifted {
    let GuardFlags { allow_dirty, lasting } = flags;
    let lifted = Lifted { dirty: allow_dirty, ..lasting.lifted() };
    if lifted == Lifted::default() {
        return lifted;
    }
    if source.policy.settings.guards.is_none() {
        terminal.remark("the policy has no `[guards]`, so there is none to lift");
        return Lifted::default();
    }
    source.policy = source.policy.with_lifted_guards(lifted);
    lifted
}
