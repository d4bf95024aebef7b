//! The one table of reasons. Whatever else names a reason reads it from here.

use super::{Family, NextStep, Reason};

/// Declares [`ReasonCode`] and the table behind it, so that neither can have an entry that the
/// other lacks. A page is found by its reason's code.
macro_rules! reasons {
    ($(
        $variant:ident {
            code: $code:literal,
            title: $title:literal,
            family: $family:ident,
            exit_code: $exit_code:literal,
            aliases: [$($alias:literal),*],
            auto_resumable: $auto_resumable:literal,
            next_step: $next_step:ident,
            summary: $summary:literal,
            diagnosis: $diagnosis:literal,
            next_commands: [$($command:literal),* $(,)?],
            since: $since:literal,
        }
    )+) => {
        /// A built-in reason: a cheap name for its entry in the table, ordered as the table is.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum ReasonCode {
            $(#[doc = $summary] $variant,)+
        }

        impl ReasonCode {
            /// Every built-in reason, in table order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// Its entry in the registry.
            pub fn reason(self) -> &'static Reason {
                // INVARIANT: variants and entries are expanded from the same list, in one order.
                &TABLE[self as usize]
            }

            /// Its code.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $code,)+
                }
            }
        }

        static TABLE: [Reason; ReasonCode::ALL.len()] = [$(
            Reason {
                code: $code,
                title: $title,
                family: Family::$family,
                exit_code: $exit_code,
                aliases: &[$($alias),*],
                auto_resumable: $auto_resumable,
                next_step: NextStep::$next_step,
                summary: $summary,
                diagnosis: $diagnosis,
                next_commands: &[$($command),*],
                page: include_str!(concat!("pages/", $code, ".md")),
                since: $since,
            },
        )+];
    };
}

/// Every built-in reason, in table order: by family, then by exit code.
pub fn all() -> &'static [Reason] {
    &TABLE
}

reasons! {
    Completed {
        code: "completed",
        title: "Work completed",
        family: Success,
        exit_code: 0,
        aliases: ["all_tasks_done", "success_condition"],
        auto_resumable: false,
        next_step: ManualReview,
        summary: "The run reached its completion condition.",
        diagnosis: "A rule with `then = \"complete\"` holds. Where `[verify]` is set, the claim \
            was proven before it counted. Read the work before you merge it; if the run ended too \
            early, make the rule stricter or add `[verify] command`.",
        next_commands: ["backstop report {run}", "backstop show {run}"],
        since: "0.1.0",
    }
    GuardViolation {
        code: "guard_violation",
        title: "Scope guard violation",
        family: Constraint,
        exit_code: 2,
        aliases: ["scope_violation", "guard_fail"],
        auto_resumable: false,
        next_step: FixRequired,
        summary: "Files outside the allowed scope, or protected files, were changed.",
        diagnosis: "The run touched what its guards do not allow: {detail|see the report for the \
            files}. Undo the change and resume: the files are looked at again before anything runs. \
            If the change is right, widen `[guards] allow` and narrow `[guards] deny` or `[guards] \
            protect`, and give the run that policy.",
        next_commands: [
            "backstop doctor {run}",
            "backstop policy apply {run}",
            "backstop resume {run}",
        ],
        since: "0.1.0",
    }
    LockfileViolation {
        code: "lockfile_violation",
        title: "Disallowed lockfile changes",
        family: Constraint,
        exit_code: 3,
        aliases: [],
        auto_resumable: false,
        next_step: FixRequired,
        summary: "A dependency lock file was changed while the policy denies it.",
        diagnosis: "The dependency lock changed: {detail|see the report for the file}. Restore \
            the file and resume, or resume with `--allow-lockfiles` (for good: `[guards] lockfiles = \
            \"allow\"`) if the new dependencies are wanted.",
        next_commands: [
            "backstop doctor {run}",
            "backstop resume {run}",
            "backstop resume {run} --allow-lockfiles",
        ],
        since: "0.1.0",
    }
    DirtyWorktree {
        code: "dirty_worktree",
        title: "Dirty worktree before run",
        family: Constraint,
        exit_code: 4,
        aliases: [],
        auto_resumable: false,
        next_step: FixRequired,
        summary: "The working tree had uncommitted changes before the run started.",
        diagnosis: "Nothing was run, because the tree was not clean: {detail|it holds uncommitted \
            changes}. Commit or stash them and start again, or start with `--allow-dirty` (for good: \
            `[guards] require_clean = false`). `backstop resume` does not check again: it goes on \
            with the tree as it is.",
        next_commands: ["backstop show {run}", "backstop resume {run}"],
        since: "0.1.0",
    }
    FileCollision {
        code: "file_collision",
        title: "File ownership collision with active run",
        family: Constraint,
        exit_code: 5,
        aliases: [],
        auto_resumable: false,
        next_step: Wait,
        summary: "Another active run works on the same files.",
        diagnosis: "Two runs would write the same files: {detail|the report names them}. Wait for \
            the other run to end, go on with `--force-parallel` if they may share (for good: \
            `[guards] collisions = \"allow\"`), or give each run its own `[guards] allow`.",
        next_commands: [
            "backstop show {run}",
            "backstop resume {run}",
            "backstop resume {run} --force-parallel",
        ],
        since: "0.1.0",
    }
    VerificationFailed {
        code: "verification_failed",
        title: "Verification commands failed",
        family: Failure,
        exit_code: 10,
        aliases: [],
        auto_resumable: false,
        next_step: Prompt,
        summary: "The verification command said that the work is not good.",
        diagnosis: "`[verify] command` failed: {detail|its output is in the log}. Run the command \
            by hand to see whether the work or the check is wrong, then go on with a hint for the \
            agent (`--note`).",
        next_commands: [
            "backstop doctor {run}",
            "backstop resume {run} --note \"…\"",
        ],
        since: "0.1.0",
    }
    VerificationTimeout {
        code: "verification_timeout",
        title: "Verification timeout",
        family: Failure,
        exit_code: 11,
        aliases: [],
        auto_resumable: false,
        next_step: FixRequired,
        summary: "The verification command did not end in time.",
        diagnosis: "`[verify] command` ran past {threshold|its time-out}, so nobody knows whether \
            the work is good. Find out what hangs, or raise `[verify] timeout` and apply the \
            policy.",
        next_commands: [
            "backstop doctor {run}",
            "backstop policy apply {run}",
            "backstop resume {run}",
        ],
        since: "0.1.0",
    }
    Error {
        code: "error",
        title: "Errors in the loop",
        family: Failure,
        exit_code: 12,
        aliases: [],
        auto_resumable: false,
        next_step: Prompt,
        summary: "An error, or a number of errors in a row, met a rule.",
        diagnosis: "The last error: {detail|see `backstop doctor`}. {help|If it is harmless, give \
            `on_error` a `pattern` or raise `count` of `consecutive_errors`; if it passes by \
            itself, list it under `[errors] transient`, so that backstop waits longer each time, \
            and give it more attempts by that `count`}.",
        next_commands: [
            "backstop doctor {run}",
            "backstop resume {run} --note \"…\"",
            "backstop replay {run} --preset ralph",
        ],
        since: "0.1.0",
    }
    CriticalFailure {
        code: "critical_failure",
        title: "Critical failure",
        family: Failure,
        exit_code: 13,
        aliases: [],
        auto_resumable: false,
        next_step: FixRequired,
        summary: "An error came that trying again cannot cure.",
        diagnosis: "The error is permanent: {detail|authentication, disk space or memory, as a \
            rule}. Repair its cause, then resume. If it is not permanent, sort it under `[errors] \
            recoverable` or `[errors] transient`.",
        next_commands: ["backstop doctor {run}", "backstop resume {run}"],
        since: "0.1.0",
    }
    FailureCondition {
        code: "failure_condition",
        title: "Failure condition met",
        family: Failure,
        exit_code: 14,
        aliases: [],
        auto_resumable: false,
        next_step: ManualReview,
        summary: "A condition that the policy counts as failure was met.",
        diagnosis: "An entry of `failure_conditions` holds: {detail|`backstop show` names it}. \
            Look at what it saw; if that is no failure, change the entry or move it to \
            `conditions`.",
        next_commands: [
            "backstop doctor {run}",
            "backstop show {run}",
            "backstop resume {run}",
        ],
        since: "0.1.0",
    }
    ReviewLoopDetected {
        code: "review_loop_detected",
        title: "Review loop detected (repeated same review)",
        family: Review,
        exit_code: 20,
        aliases: [],
        auto_resumable: false,
        next_step: ManualReview,
        summary: "Several reviews in a row asked for the same changes.",
        diagnosis: "The reviewer made the same request {value|several} times: {detail|see the \
            report}. Either the agent does not understand it or cannot meet it. Settle it by hand \
            or resume with `--note`; `same_rounds` sets how many rounds are allowed.",
        next_commands: [
            "backstop doctor {run}",
            "backstop resume {run} --note \"…\"",
        ],
        since: "0.1.0",
    }
    ReviewRejected {
        code: "review_rejected",
        title: "Review explicitly rejected",
        family: Review,
        exit_code: 21,
        aliases: [],
        auto_resumable: false,
        next_step: ManualReview,
        summary: "A review rejected the work outright.",
        diagnosis: "The reviewer said no, not \"change this\": {detail|see the report}. Read why. \
            If the approach can be saved, resume with `--note`; if the verdict was too harsh, \
            have `[review] command` ask for changes instead.",
        next_commands: [
            "backstop report {run}",
            "backstop resume {run} --note \"…\"",
        ],
        since: "0.1.0",
    }
    WorkerBlocked {
        code: "worker_blocked",
        title: "Worker reported blocked status",
        family: Worker,
        exit_code: 30,
        aliases: [],
        auto_resumable: false,
        next_step: FixRequired,
        summary: "The worker said that it cannot go on without help.",
        diagnosis: "The worker needs something that it cannot get by itself: {detail|the log says \
            what}. Provide it, then `backstop release`, or `backstop resume` with `--note` if the \
            agent must be told.",
        next_commands: [
            "backstop show {run}",
            "backstop release {run}",
            "backstop resume {run} --note \"…\"",
        ],
        since: "0.1.0",
    }
    WorkerFailed {
        code: "worker_failed",
        title: "Worker process failed",
        family: Worker,
        exit_code: 31,
        aliases: [],
        auto_resumable: false,
        next_step: FixRequired,
        summary: "The supervised program could not be started, or failed.",
        diagnosis: "The command did not do its work: {detail|its last lines are in the log}. \
            Check that the program exists, may be executed, and runs by hand. With `--once` any \
            exit status but 0 ends here.",
        next_commands: ["backstop doctor {run}", "backstop resume {run}"],
        since: "0.1.0",
    }
    WorkerTimeout {
        code: "worker_timeout",
        title: "Worker call timeout",
        family: Worker,
        exit_code: 32,
        aliases: ["worker_call_timeout"],
        auto_resumable: true,
        next_step: Prompt,
        summary: "Iterations ran, or stood idle, for longer than they may.",
        diagnosis: "An iteration did not end within {threshold|its time-out}. If the work needs \
            longer, raise `[loop] iteration_timeout`; if it is silent while it works, raise \
            `[loop] idle_timeout`; else hand out smaller tasks. `--auto-resume` tries again by \
            itself.",
        next_commands: [
            "backstop doctor {run}",
            "backstop resume {run} --note \"…\"",
        ],
        since: "0.1.0",
    }
    RateLimited {
        code: "rate_limited",
        title: "Provider rate limit reached",
        family: Worker,
        exit_code: 33,
        aliases: [],
        auto_resumable: true,
        next_step: Wait,
        summary: "The provider refuses more work for now, or its usage window is nearly full.",
        diagnosis: "The provider takes no more for now ({value|all} of its limit is used); it opens \
            again {until|when its window resets}. {help|`at_least` of a `quota` rule sets how much \
            of a window is left to others}. Resume then, or let `--auto-resume` do it.",
        next_commands: [
            "backstop show {run}",
            "backstop resume {run} --auto-resume 3",
        ],
        since: "0.1.0",
    }
    CircuitBreaker {
        code: "circuit_breaker",
        title: "Circuit breaker tripped",
        family: Quality,
        exit_code: 40,
        aliases: [],
        auto_resumable: false,
        next_step: ManualReview,
        summary: "All units together used up the allowed number of attempts.",
        diagnosis: "{value|All} of {threshold|the allowed} attempts are spent. Look at the units \
            that took most of them before you buy more with `--raise circuit_breaker=…` \
            (`circuit_breaker_limit` in a manifest, `count` of `max_attempts` in a policy).",
        next_commands: [
            "backstop report {run}",
            "backstop resume {run} --raise circuit_breaker={raised|N}",
        ],
        since: "0.1.0",
    }
    ConsecutiveFails {
        code: "consecutive_fails",
        title: "Too many units failed in a row",
        family: Quality,
        exit_code: 41,
        aliases: [],
        auto_resumable: false,
        next_step: ManualReview,
        summary: "Several units in a row were rejected or failed.",
        diagnosis: "{value|Several} units in a row ended badly, which points at one common cause \
            rather than at the units. Find it, then resume at the first unfinished unit. The \
            limit is `max_consecutive_fails`, or `count` of `consecutive_fails`.",
        next_commands: ["backstop doctor {run}", "backstop resume {run}"],
        since: "0.1.0",
    }
    RejectRate {
        code: "reject_rate",
        title: "Reject rate too high",
        family: Quality,
        exit_code: 42,
        aliases: [],
        auto_resumable: false,
        next_step: ManualReview,
        summary: "Too large a share of the finished units was rejected or failed.",
        diagnosis: "The reject rate is {value|too high} (limit: {threshold|see the policy}). Look \
            at the rejected units; the input or the acceptance test may be wrong. Then go on with \
            `--raise reject_rate=…`. Few units make a jumpy rate: set `min_units`.",
        next_commands: [
            "backstop report {run}",
            "backstop resume {run} --raise reject_rate={raised|RATE}",
        ],
        since: "0.1.0",
    }
    RetryRate {
        code: "retry_rate",
        title: "Retry rate too high",
        family: Quality,
        exit_code: 43,
        aliases: [],
        auto_resumable: false,
        next_step: ManualReview,
        summary: "Too large a share of the finished units needed more than one attempt.",
        diagnosis: "The retry rate is {value|too high} (limit: {threshold|see the policy}): the \
            work gets done, but at a multiple of its price. See why first attempts fail, then go \
            on with `--raise retry_rate=…`, or set `min_units`.",
        next_commands: [
            "backstop report {run}",
            "backstop resume {run} --raise retry_rate={raised|RATE}",
        ],
        since: "0.1.0",
    }
    ErrorRate {
        code: "error_rate",
        title: "Error rate too high",
        family: Quality,
        exit_code: 44,
        aliases: ["high_error_rate"],
        auto_resumable: false,
        next_step: ManualReview,
        summary: "Too large a share of the tasks ended in error.",
        diagnosis: "The error rate is {value|too high} (limit: {threshold|see the policy}). Group \
            the errors with `backstop doctor`, cure the commonest, then go on with `--raise \
            error_rate=…`. `min_tasks` keeps the first few tasks from deciding alone.",
        next_commands: [
            "backstop doctor {run}",
            "backstop resume {run} --raise error_rate={raised|RATE}",
        ],
        since: "0.1.0",
    }
    DiminishingReturns {
        code: "diminishing_returns",
        title: "Diminishing returns",
        family: Quality,
        exit_code: 45,
        aliases: [],
        auto_resumable: false,
        next_step: ManualReview,
        summary: "The last improvement cycle improved too little to be worth another.",
        diagnosis: "The last cycle improved the metrics by {value|little}; below \
            {threshold|the rule's `below`} a run counts as done with improving. Take the result \
            as it is, or lower `below` of `diminishing_returns` and apply the policy.",
        next_commands: [
            "backstop report {run}",
            "backstop policy apply {run}",
            "backstop resume {run}",
        ],
        since: "0.1.0",
    }
    HealthCritical {
        code: "health_critical",
        title: "Health score critical",
        family: Quality,
        exit_code: 46,
        aliases: [],
        auto_resumable: false,
        next_step: ManualReview,
        summary: "The health score fell below its limit.",
        diagnosis: "The health score is {value|too low} (limit: {threshold|see the policy}). It \
            mixes tokens left, context left, errors and recent progress: find out which part is \
            low and mend that, or lower `below` of the `health` rule.",
        next_commands: [
            "backstop doctor {run}",
            "backstop show {run}",
            "backstop resume {run}",
        ],
        since: "0.1.0",
    }
    TestFailureStreak {
        code: "test_failure_streak",
        title: "Tests keep failing",
        family: Quality,
        exit_code: 47,
        aliases: [],
        auto_resumable: false,
        next_step: Prompt,
        summary: "Several test runs in a row had a failure.",
        diagnosis: "{value|Several} test runs in a row failed: {detail|the report names the \
            tests}. Tell the agent what it overlooks (`--note`), repair the test if it is wrong, \
            or raise `count` of `test_failure_streak` if the work starts from red tests.",
        next_commands: [
            "backstop doctor {run}",
            "backstop resume {run} --note \"…\"",
        ],
        since: "0.1.0",
    }
    Repetition {
        code: "repetition",
        title: "Agent repeats itself",
        family: Quality,
        exit_code: 48,
        aliases: [],
        auto_resumable: false,
        next_step: Prompt,
        summary: "The agent did the same things again, with the same results.",
        diagnosis: "The same steps came back without anything new: {detail|see the evidence in \
            `backstop doctor`}. Resume with a `--note` that suggests another way. If the \
            repetition was meant, set `sensitivity = \"low\"` on the `repetition` rule.",
        next_commands: [
            "backstop doctor {run}",
            "backstop resume {run} --note \"…\"",
        ],
        since: "0.1.0",
    }
    TopicDrift {
        code: "topic_drift",
        title: "Work drifted from the requirements",
        family: Quality,
        exit_code: 49,
        aliases: [],
        auto_resumable: false,
        next_step: ManualReview,
        summary: "The recent work has little in common with what was asked for.",
        diagnosis: "The drift score is {value|too high} (limit: {threshold|see the policy}). \
            Compare the last changes with `[work] requirements`. Bring the agent back with \
            `--note`, bring the requirements up to date, or raise `above` of `topic_drift`.",
        next_commands: [
            "backstop report {run}",
            "backstop answer {run} continue",
            "backstop resume {run} --note \"…\"",
        ],
        since: "0.1.0",
    }
    MaxAttempts {
        code: "max_attempts",
        title: "Maximum re-runs of a job reached",
        family: Policy,
        exit_code: 50,
        aliases: [],
        auto_resumable: false,
        next_step: ManualReview,
        summary: "This job has been re-run as often as the policy allows.",
        diagnosis: "{value|All} of {threshold|the allowed} re-runs of this job are used. A \
            failure that survives them is rarely chance: read the job's log. The limit is \
            `maxRerunsPerJob`, or `count` of `job_attempts`.",
        next_commands: ["backstop show {run}", "backstop policy explain"],
        since: "0.1.0",
    }
    MaxTotalReruns {
        code: "max_total_reruns",
        title: "Maximum total re-runs reached",
        family: Policy,
        exit_code: 51,
        aliases: [],
        auto_resumable: false,
        next_step: ManualReview,
        summary: "All jobs of this subject together have been re-run as often as allowed.",
        diagnosis: "{value|All} of {threshold|the allowed} re-runs are used. Many jobs failing \
            once weigh as much here as one job failing often: look for what they share. The limit \
            is `maxTotalRerunsPerPr`, or `count` of `total_attempts`.",
        next_commands: ["backstop show {run}", "backstop policy explain"],
        since: "0.1.0",
    }
    WaitTimeout {
        code: "wait_timeout",
        title: "Maximum wait time exceeded",
        family: Policy,
        exit_code: 52,
        aliases: [],
        auto_resumable: false,
        next_step: ManualReview,
        summary: "The failure has been unresolved for longer than the policy waits.",
        diagnosis: "The first failure is {value|too long} ago, past {threshold|the allowed wait}. \
            Re-running has not helped, so somebody must look. The limit is \
            `maxWaitMinutesForGreen`, or `duration` of `unresolved`.",
        next_commands: ["backstop show {run}", "backstop policy explain"],
        since: "0.1.0",
    }
    NonRetriable {
        code: "non_retriable",
        title: "Failure is not retriable",
        family: Policy,
        exit_code: 53,
        aliases: [],
        auto_resumable: false,
        next_step: FixRequired,
        summary: "The failure is of a class that a re-run cannot cure.",
        diagnosis: "The failure's class is {detail|on the policy's list}, and it will come back \
            each time. Fix the cause and push. The list is `blockOnFailureClasses`, or `any_of` of \
            `failure_class`.",
        next_commands: ["backstop show {run}", "backstop policy explain"],
        since: "0.1.0",
    }
    NoSignalChange {
        code: "no_signal_change",
        title: "No change in the failure signal",
        family: Policy,
        exit_code: 54,
        aliases: [],
        auto_resumable: false,
        next_step: ManualReview,
        summary: "The last failures all look the same.",
        diagnosis: "The last {value|few} cycles failed in exactly the same way, so another one \
            will too. Read the failure once and mend it. The limit is \
            `noSignalChangeThreshold`, or `cycles` of `no_signal_change`.",
        next_commands: ["backstop show {run}", "backstop policy explain"],
        since: "0.1.0",
    }
    PolicyBlock {
        code: "policy_block",
        title: "Blocked by policy",
        family: Policy,
        exit_code: 55,
        aliases: ["lawbook_block"],
        auto_resumable: false,
        next_step: ManualReview,
        summary: "The policy could not be loaded, or it blocks this outright.",
        diagnosis: "Without a policy that can be read nothing is allowed to go on: \
            {detail|`backstop policy check` says what is wrong}. Correct the policy or the store \
            that holds it. A rule may also name this reason with `reason = \"policy_block\"`.",
        next_commands: ["backstop policy check", "backstop show {run}"],
        since: "0.1.0",
    }
    CooldownActive {
        code: "cooldown_active",
        title: "Cool-down active",
        family: Policy,
        exit_code: 56,
        aliases: [],
        auto_resumable: false,
        next_step: Wait,
        summary: "The last change is too recent to act on.",
        diagnosis: "Things must settle for {threshold|a while} after a change; the wait ends \
            {until|when that time has passed}. Wait, or shorten `cooldownMinutes`, or `duration` \
            of `cooldown`.",
        next_commands: ["backstop show {run}", "backstop release {run}"],
        since: "0.1.0",
    }
    ConditionMet {
        code: "condition_met",
        title: "Condition met",
        family: Custom,
        exit_code: 60,
        aliases: [],
        auto_resumable: false,
        next_step: ManualReview,
        summary: "A rule without a reason of its own fired.",
        diagnosis: "The policy's own condition holds: {detail|`backstop show` names the rule}. \
            Give the rule a `reason`, or declare one with `[[reason]]`, and the next stop \
            explains itself and has an exit code of its own.",
        next_commands: [
            "backstop show {run}",
            "backstop resume {run}",
            "backstop report {run}",
        ],
        since: "0.1.0",
    }
    Timeout {
        code: "timeout",
        title: "Time budget exceeded",
        family: ResourceLimit,
        exit_code: 124,
        aliases: ["time_limit", "time_budget_exceeded", "runtime_limit", "max_duration"],
        auto_resumable: false,
        next_step: ManualReview,
        summary: "The run used up its active time.",
        diagnosis: "The run used {value|all} of {threshold|its} active time; waiting, holds and \
            sleep did not count. If the report shows that it was getting somewhere, give it more \
            with `--raise duration=…` or `[limits] duration`.",
        next_commands: [
            "backstop report {run}",
            "backstop resume {run} --raise duration={raised|TIME}",
        ],
        since: "0.1.0",
    }
    MaxIterations {
        code: "max_iterations",
        title: "Iteration limit reached",
        family: ResourceLimit,
        exit_code: 125,
        aliases: ["max_ticks"],
        auto_resumable: false,
        next_step: ManualReview,
        summary: "The run finished as many iterations as it may.",
        diagnosis: "The run finished {value|all} of {threshold|its allowed} iterations. If it was \
            getting somewhere, go on with `--raise iterations=…` or set `[limits] iterations`; if \
            not, more of the same will not help.",
        next_commands: [
            "backstop report {run}",
            "backstop resume {run} --raise iterations={raised|N}",
            "backstop doctor {run}",
        ],
        since: "0.1.0",
    }
    Stalled {
        code: "stalled",
        title: "Run stalled (no progress)",
        family: ResourceLimit,
        exit_code: 126,
        aliases: ["stagnation", "no_progress", "stalled_timeout"],
        auto_resumable: true,
        next_step: Prompt,
        summary: "Nothing counted as progress for too long.",
        diagnosis: "There was no progress for {value|too long} (limit: {threshold|see the \
            policy}). Give the agent a hint with `--note`. If it did get on, tell backstop what \
            counts: `[progress] markers`, `tasks` or `count`.",
        next_commands: [
            "backstop doctor {run}",
            "backstop resume {run} --note \"…\"",
            "backstop replay {run} --preset moderator",
        ],
        since: "0.1.0",
    }
    TokenLimit {
        code: "token_limit",
        title: "Token budget exceeded",
        family: ResourceLimit,
        exit_code: 127,
        aliases: [],
        auto_resumable: false,
        next_step: ManualReview,
        summary: "The run used up its tokens, or they could not be counted.",
        diagnosis: "Tokens used: {value|not reported} of {threshold|the budget}; cache reads \
            count only with `cache_reads = true`. Buy more with `--raise tokens=…` or `[limits] \
            tokens`. If the program reports no usage, `--unmetered allow` goes on without this \
            limit.",
        next_commands: [
            "backstop report {run}",
            "backstop resume {run} --raise tokens={raised|N}",
        ],
        since: "0.1.0",
    }
    CostLimit {
        code: "cost_limit",
        title: "Cost budget exceeded",
        family: ResourceLimit,
        exit_code: 128,
        aliases: [],
        auto_resumable: false,
        next_step: ManualReview,
        summary: "The run used up its money, or its cost could not be metered.",
        diagnosis: "Spent: {value|not reported} of {threshold|the budget}. Buy more with `--raise \
            cost_usd=…` or `[limits] cost_usd`. If the program reports no cost, `--unmetered \
            allow` goes on without this limit.",
        next_commands: [
            "backstop report {run}",
            "backstop resume {run} --raise cost_usd={raised|USD}",
        ],
        since: "0.1.0",
    }
    ContextOverflow {
        code: "context_overflow",
        title: "Context window full",
        family: ResourceLimit,
        exit_code: 129,
        aliases: [],
        auto_resumable: false,
        next_step: Prompt,
        summary: "The agent's context window is full to its limit.",
        diagnosis: "{help|The context is as full as `at_least` of `context_usage` allows}. \
            `[recover] context_max` sets how many fresh starts are tried without progress. Hand \
            out smaller tasks, or shorten what is fed to `[loop] stdin`.",
        next_commands: [
            "backstop doctor {run}",
            "backstop resume {run} --note \"…\"",
        ],
        since: "0.1.0",
    }
    UserStopped {
        code: "user_stopped",
        title: "User requested stop",
        family: User,
        exit_code: 130,
        aliases: ["user_signal", "user_interrupt"],
        auto_resumable: false,
        next_step: ManualReview,
        summary: "Somebody asked the run to stop.",
        diagnosis: "{detail|A person or its script ended it}, before its work was done; iterations \
            finished: {iterations|see the report}. The work is kept, and `backstop resume` goes on \
            where it ended.",
        next_commands: ["backstop show {run}", "backstop resume {run}"],
        since: "0.1.0",
    }
    UserAborted {
        code: "user_aborted",
        title: "User aborted the run",
        family: User,
        exit_code: 131,
        aliases: [],
        auto_resumable: false,
        next_step: ManualReview,
        summary: "A person answered backstop's question with `abort`.",
        diagnosis: "The work up to there is kept; `backstop resume` takes it up again if minds \
            change.",
        next_commands: ["backstop report {run}", "backstop resume {run}"],
        since: "0.1.0",
    }
    UserUnresponsive {
        code: "user_unresponsive",
        title: "No answer from the user",
        family: User,
        exit_code: 132,
        aliases: [],
        auto_resumable: false,
        next_step: ManualReview,
        summary: "Nobody answered backstop's question in time, or nobody could be asked.",
        diagnosis: "The question was: {detail|see the report}. No answer came within \
            {threshold|`[intervention] timeout`}. Look at the evidence and resume. To be reached \
            next time, set `[notify]`, or raise `[intervention] timeout`.",
        next_commands: ["backstop show {run}", "backstop resume {run} --note \"…\""],
        since: "0.1.0",
    }
    Terminated {
        code: "terminated",
        title: "Terminated by the system",
        family: User,
        exit_code: 143,
        aliases: [],
        auto_resumable: false,
        next_step: ManualReview,
        summary: "backstop received SIGTERM and ended the run.",
        diagnosis: "A parent process, a service manager or a shutdown sent SIGTERM (iterations \
            finished: {iterations|see the report}). Nothing is wrong with the run itself: \
            `backstop resume` goes on with the same counts and budgets.",
        next_commands: ["backstop show {run}", "backstop resume {run}"],
        since: "0.1.0",
    }
}
