//! Supervisors that are killed at any instant: what was acknowledged is there, the journal has no
//! gap, the facts are those of its events, the run goes on, and nothing is left running.
//!
//! `BACKSTOP_TORTURE_TRIALS` says how many trials, `BACKSTOP_TORTURE_SEED` which ones.

mod support;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use backstop_core::engine::Engine;
use backstop_core::event::Event;
use backstop_core::facts::Facts;
use backstop_core::time::Timestamp;
use backstop_runner::{journalled, loading};
use backstop_store::{Home, Location, Run, RunFilter, open};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value as Json;
use support::looping::{Loop, wait_for};

#[test]
fn what_was_acknowledged_survives_a_kill_at_any_instant() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let trials = number("BACKSTOP_TORTURE_TRIALS").unwrap_or(SMOKE);
    let seed = number("BACKSTOP_TORTURE_SEED").unwrap_or_else(chance);
    println!("{trials} trials; repeat with BACKSTOP_TORTURE_SEED={seed}");
    let (next, failed) = (AtomicU64::new(0), AtomicBool::new(false));
    let seen = Seen::default();
    let began = Instant::now();
    thread::scope(|scope| {
        for _ in 0..SIDE_BY_SIDE {
            scope.spawn(|| {
                loop {
                    let trial = next.fetch_add(1, Ordering::Relaxed);
                    if trial >= trials || failed.load(Ordering::Relaxed) {
                        return;
                    }
                    let seed = seed.wrapping_add(trial);
                    let work = || Trial::of(seed).run(&seen);
                    if catch_unwind(AssertUnwindSafe(work)).is_err() {
                        println!("failed: BACKSTOP_TORTURE_SEED={seed} BACKSTOP_TORTURE_TRIALS=1");
                        failed.store(true, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    let rate = trials as f64 / began.elapsed().as_secs_f64();
    println!("{rate:.1} trials/s; {seen:?}");
    assert!(!failed.load(Ordering::Relaxed), "a trial failed: see above");
    if trials >= SMOKE {
        seen.assert_that_more_than_one_moment_was_met();
    }
}

/// Who is killed.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Victim {
    Inner,
    Outer,
    Both,
}

/// When.
#[derive(Clone, Copy, Debug)]
enum Moment {
    /// So long after the start.
    After(Duration),
    /// When so many events have been acknowledged.
    Acknowledged(usize),
    /// When the journal says that the run has halted.
    Halting,
}

#[derive(Debug)]
struct Trial {
    seed: u64,
    victim: Victim,
    instant: Moment,
    containment: &'static str,
    lingers: bool,
    /// Orphans are ended by `doctor`, before the run is resumed.
    by_doctor: bool,
}

impl Trial {
    fn of(seed: u64) -> Self {
        let mut chance = Chance(seed);
        Self {
            seed,
            victim: [Victim::Inner, Victim::Outer, Victim::Both][chance.below(3)],
            instant: match chance.below(8) {
                // Early ones more often: that is when everything is set up.
                0..3 => {
                    let most = chance.below(300_000) + 1;
                    Moment::After(Duration::from_micros(chance.below(most) as u64))
                }
                3 => Moment::Halting,
                _ => Moment::Acknowledged(chance.below(ALL_EVENTS)),
            },
            containment: ["cgroup", "sub-reaper"][chance.below(2)],
            lingers: chance.below(3) == 0,
            by_doctor: chance.below(3) == 0,
        }
    }

    fn run(&self, seen: &Seen) {
        let test = Loop::new().variable("BACKSTOP_CONTAINMENT", self.containment);
        let (events, linger) = (EVENTS.to_string(), if self.lingers { "linger" } else { "-" });
        let iterations = ITERATIONS.to_string();
        let limits = ["run", "--max-iterations", &iterations, "--until-file", "done"];
        let worker = ["--grace", "2s", "--", REPORTER, &events, linger];
        let running = test.start([&limits[..], &worker].concat());
        self.wait(&test);
        let found = supervisors(&test);
        self.kill(found.clone(), running.pid());
        running.ends();
        // Whoever was killed has no environment any more a while before it has ended.
        let all_ended = || found.iter().all(|pid| has_ended(*pid)) && supervisors(&test).is_empty();
        wait_for("the supervisors to be gone", all_ended);
        // One that is left alone ends everything; nobody does if both are dead.
        if self.victim != Victim::Both {
            assert_eq!(test.processes(), NOBODY, "{self:?}");
        }
        let Some(left) = Left::look(&test) else {
            seen.before.fetch_add(1, Ordering::Relaxed);
            assert_eq!(test.read("acked"), "", "{self:?}: acknowledged and lost");
            return test.is_empty();
        };
        left.check(&test, self);
        seen.count(&left);
        if self.by_doctor {
            test.run(["doctor", "latest", "--end-orphans"]).exits(0);
            assert_eq!(test.processes(), NOBODY, "{self:?}: after doctor");
        }
        self.resume(&test, &left);
        assert_eq!(test.processes(), NOBODY, "{self:?}: after resume");
    }

    fn wait(&self, test: &Loop) {
        match self.instant {
            Moment::After(time) => pass(time),
            Moment::Acknowledged(count) => {
                wait_for("acknowledgements", || {
                    test.read("acked").lines().count() >= count || supervisors(test).is_empty()
                });
            }
            Moment::Halting => {
                let all = ITERATIONS * EVENTS * 3;
                wait_for("the last acknowledgement", || {
                    test.read("acked").lines().count() >= all || supervisors(test).is_empty()
                });
                pass(Duration::from_micros(Chance(self.seed ^ 1).below(40_000) as u64));
            }
        }
    }

    fn kill(&self, found: Vec<u32>, outer: u32) {
        let mut victims: Vec<u32> = match self.victim {
            Victim::Inner => found.into_iter().filter(|pid| *pid != outer).collect(),
            Victim::Outer => vec![outer],
            Victim::Both => found,
        };
        if Chance(self.seed ^ 2).below(2) == 0 {
            victims.reverse();
        }
        if self.victim == Victim::Both {
            // Stopped first, so that neither can act on the other's death.
            victims.iter().for_each(|pid| send(*pid, Signal::STOP));
        }
        victims.iter().for_each(|pid| send(*pid, Signal::KILL));
    }

    fn resume(&self, test: &Loop, left: &Left) {
        let test_is_done = test.exists("done");
        assert!(!test_is_done, "{self:?}");
        std::fs::write(test.work().join("calm"), "").expect("can be written");
        let raise = (ITERATIONS + 10).to_string();
        let raise = format!("iterations={raise}");
        let resumed = test.run(["resume", "latest", "--raise", &raise]);
        assert_eq!(resumed.code, Some(0), "{self:?}: {}", resumed.stderr);
        let after = Left::look(test).expect("the run is there");
        after.check(test, self);
        let before = left.events.len();
        assert!(after.events.len() > before, "{self:?}");
        assert_eq!(after.events[..before], left.events[..], "{self:?}: history was changed");
        let number = |facts: &Json, name: &str| facts[name].as_f64().unwrap_or_default();
        for name in ["tokens", "cost_usd"] {
            assert_eq!(number(&after.facts, name), number(&left.facts, name), "{self:?}: {name}");
        }
        assert_eq!(
            number(&after.facts, "iterations"),
            number(&left.facts, "iterations") + 1.0,
            "{self:?}: an iteration that was cut short does not count"
        );
        let shown = test.state();
        assert_eq!(shown["run_status"], "completed", "{self:?}");
        assert_eq!(shown["facts"], after.facts, "{self:?}: what is shown");
    }
}

/// What a crash left in the store.
struct Left {
    run: Run,
    events: Vec<String>,
    facts: Json,
}

impl Left {
    /// Reads the store; none if there is no run.
    fn look(test: &Loop) -> Option<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(async {
            let location = Location::Embedded(Home::new(test.state_directory()));
            let store = open(&location).await.expect("the store can be opened");
            let health = store.health().await.expect("the store can be read");
            assert_eq!(health.problems, [""; 0]);
            let runs = store.run_list(&RunFilter::default()).await.expect("runs");
            let run = runs.into_iter().next()?;
            let mut loaded = loading::load(&*store, run.id).await.expect("facts");
            let stored = store.event_list(run.id, 0, u32::MAX).await.expect("events");
            for (index, event) in stored.iter().enumerate() {
                assert_eq!(event.seq, index as u64 + 1, "the journal has a gap");
            }
            let events: Vec<String> = stored.into_iter().map(|event| event.body).collect();
            let policy = loaded.engine.policy().clone();
            let mut fold = journalled::engine(policy, Facts::default());
            for event in &events {
                let event = Event::from_json(event.as_bytes()).expect("an event");
                fold.handle_event(&event, Timestamp::default());
            }
            let facts = as_shown(&mut loaded.engine);
            assert_eq!(facts, as_shown(&mut fold), "facts are not those of the events");
            Some(Self { run, events, facts })
        })
    }

    /// Everything that was acknowledged is there, at the number that was told or before it.
    fn check(&self, test: &Loop, trial: &Trial) {
        for line in test.read("acked").lines() {
            let (seq, id) = line.split_once(' ').expect("a number and a name");
            let seq: usize = seq.parse().expect("a number");
            let sent = format!(r#""type":"unit","id":"{id}""#);
            let known = self.events.iter().take(seq).rev().any(|event| event.contains(&sent));
            assert!(known, "{trial:?}: {line} was acknowledged and lost");
        }
    }
}

/// Which moments were met: a test that kills always at the same one proves little.
#[derive(Debug, Default)]
struct Seen {
    before: AtomicU64,
    empty: AtomicU64,
    running: AtomicU64,
    between: AtomicU64,
    halted: AtomicU64,
}

impl Seen {
    fn count(&self, left: &Left) {
        let last = |kind: &str| {
            let found = left.events.iter().rposition(|event| event.contains(kind));
            found.map_or(0, |index| index + 1)
        };
        let moment = if left.run.status.is_halted() {
            &self.halted
        } else if left.events.is_empty() {
            &self.empty
        } else if last(r#""type":"iteration_started""#) > last(r#""type":"iteration_finished""#) {
            &self.running
        } else {
            &self.between
        };
        moment.fetch_add(1, Ordering::Relaxed);
    }

    fn assert_that_more_than_one_moment_was_met(&self) {
        for count in [&self.running, &self.halted] {
            assert!(count.load(Ordering::Relaxed) > 0, "a moment was never met: {self:?}");
        }
    }
}

/// The facts at the time at which the journal ended.
fn as_shown(engine: &mut Engine) -> Json {
    let moment = engine.moment(Timestamp::from_nanos(i64::MIN));
    engine.decide(moment);
    engine.view().to_json()
}

/// Lets time pass, so that the supervisor dies at another instant in every trial.
fn pass(time: Duration) {
    let began = Instant::now();
    while began.elapsed() < time {
        thread::sleep(time.saturating_sub(began.elapsed()));
    }
}

fn supervisors(test: &Loop) -> Vec<u32> {
    let is_one = |pid: &u32| {
        let program = std::fs::read_link(format!("/proc/{pid}/exe"));
        program.is_ok_and(|path| path == std::path::Path::new(support::BINARY))
    };
    test.marked().into_iter().filter(is_one).collect()
}

fn has_ended(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit(") ").next().and_then(|fields| fields.chars().next());
    state.is_none_or(|state| state == 'Z' || state == 'X')
}

/// Signals a process that may have ended already.
fn send(pid: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        let _ended = kill_process(pid, signal);
    }
}

/// Numbers that look random and can be had again (splitmix64).
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) as usize % end
    }
}

fn chance() -> u64 {
    use std::hash::{BuildHasher as _, RandomState};
    RandomState::new().hash_one(0) >> 16
}

const SMOKE: u64 = 200;
const SIDE_BY_SIDE: usize = 4;
const ITERATIONS: usize = 3;
const EVENTS: usize = 8;
/// Three connections report so many events in each iteration.
const ALL_EVENTS: usize = ITERATIONS * EVENTS * 3;
const REPORTER: &str = env!("CARGO_BIN_EXE_reporter");
const NOBODY: [u32; 0] = [];
