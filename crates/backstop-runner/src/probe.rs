//! Probes: they look into the world for the engine, at files and by scripts, and answer by events.

use std::collections::BTreeSet;
use std::future::{Future, poll_fn};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;

use backstop_core::condition::Condition;
use backstop_core::event::Probe;
use tokio::time::{Instant, sleep_until};

use crate::tree::Tree;

mod file_question;
mod file_watch;
mod resolved_path;
mod script_question;

use file_question::FileQuestion;
use file_watch::FileWatch;
use script_question::ScriptQuestion;

/// The questions of a policy about files and scripts, with the answers given so far.
pub struct Probes {
    cwd: PathBuf,
    questions: Vec<Question>,
    running: Vec<Running>,
    /// Answers that nobody has taken yet.
    untold: Vec<Probe>,
    watch: Option<Arc<FileWatch>>,
    next_poll: Instant,
    warnings: Vec<String>,
    /// Lets go of files that are being read when all this is dropped.
    is_over: Arc<AtomicBool>,
}

struct Question {
    key: String,
    subject: Subject,
    /// What was last answered.
    told: Option<Answer>,
    has_warned: bool,
    /// To be asked, but not before this time.
    wanted: Option<Instant>,
    /// When its script runs by itself.
    due: Option<Instant>,
}

enum Subject {
    File(Arc<FileQuestion>),
    Script(Rc<ScriptQuestion>),
}

struct Running {
    question: usize,
    started: Instant,
    answer: Pin<Box<dyn Future<Output = Answer>>>,
}

/// What a look gave.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Answer {
    met: Option<bool>,
    detail: Option<String>,
}

impl Probes {
    /// Takes the questions about files and scripts from all that a policy asks. They are first
    /// asked by [`Self::ask_all`].
    pub fn new<'a>(
        questions: impl IntoIterator<Item = &'a Condition>,
        cwd: &Path,
        tree: Rc<Tree>,
    ) -> Self {
        let mut known = BTreeSet::new();
        let asked = questions.into_iter().filter_map(move |condition| {
            let subject = match condition {
                Condition::FileCreated(file) => {
                    Subject::File(Arc::new(FileQuestion::created(file)))
                }
                Condition::FileContains(file) => {
                    Subject::File(Arc::new(FileQuestion::contains(file)))
                }
                Condition::CustomScript(script) => {
                    Subject::Script(Rc::new(ScriptQuestion::new(script, cwd, Rc::clone(&tree))))
                }
                _ => return None,
            };
            let key = condition.key();
            known.insert(key.clone()).then(|| Question::new(key, subject))
        });
        Self::with_watch(asked.collect(), cwd, FileWatch::new)
    }

    fn with_watch(asked: Vec<Question>, cwd: &Path, watch: impl FnOnce() -> FileWatch) -> Self {
        let has_files = asked.iter().any(|question| matches!(question.subject, Subject::File(_)));
        Self {
            cwd: cwd.to_owned(),
            questions: asked,
            running: Vec::new(),
            untold: Vec::new(),
            watch: has_files.then(|| Arc::new(watch())),
            next_poll: Instant::now() + POLL_PERIOD,
            warnings: Vec::new(),
            is_over: Arc::default(),
        }
    }

    /// Asks everything, side by side, and gives the answers that changed. What is running already
    /// is waited for and then asked once more, because it may have looked too early. Given up
    /// half-way, no answer is lost: the next call gives it.
    pub async fn ask_all(&mut self) -> Vec<Probe> {
        self.want_all();
        self.answered().await
    }

    /// Everything is to be asked; [`Self::answered`] does it.
    pub fn want_all(&mut self) {
        let now = Instant::now();
        self.questions.iter_mut().for_each(|question| question.wanted = Some(now));
    }

    /// Ends what is being asked, scripts included: nobody wants to know any more.
    pub fn give_up(&mut self) {
        self.running.clear();
        self.questions.iter_mut().for_each(|question| question.wanted = None);
    }

    /// Waits until all that is wanted is answered, and gives the answers that changed. May be given
    /// up and called again.
    pub async fn answered(&mut self) -> Vec<Probe> {
        loop {
            self.start_wanted(Instant::now() + A_LONG_TIME);
            if self.running.is_empty() {
                return std::mem::take(&mut self.untold);
            }
            let finished = next_finished(&mut self.running).await;
            self.take_in(finished);
        }
    }

    /// Waits for an answer that changed: a watched file became another, or a script was due. Never
    /// ready if there is nothing to watch. Can be given up at any time: nothing is lost, but
    /// nothing goes on either until it is called again.
    pub async fn changed(&mut self) -> Vec<Probe> {
        loop {
            if !self.untold.is_empty() {
                return std::mem::take(&mut self.untold);
            }
            let now = Instant::now();
            self.want_due(now);
            self.start_wanted(now);
            let wake = self.next_wake();
            let watch = self.watch.clone();
            tokio::select! {
                finished = next_finished(&mut self.running) => self.take_in(finished),
                touched = touched(watch.as_deref()) => self.want_files(&touched),
                () = sleep_until(wake.unwrap_or(now)), if wake.is_some() => {}
            }
        }
    }

    /// What a user should know, each once: a question that can't be answered, files that can't be
    /// watched.
    pub fn warnings(&mut self) -> Vec<String> {
        self.warnings.extend(self.watch.as_ref().and_then(|watch| watch.take_trouble()));
        std::mem::take(&mut self.warnings)
    }

    fn want_files(&mut self, touched: &BTreeSet<usize>) {
        let now = Instant::now();
        for (index, question) in self.questions.iter_mut().enumerate() {
            if touched.contains(&index) {
                question.wanted.get_or_insert(now);
            }
        }
    }

    /// Marks what time asks for: scripts that are due, and all files where they are polled.
    fn want_due(&mut self, now: Instant) {
        let polls = self.watch.as_ref().is_some_and(|watch| watch.is_polling());
        let poll = polls && self.next_poll <= now;
        if poll {
            self.next_poll = now + POLL_PERIOD;
        }
        for question in &mut self.questions {
            let is_due = question.due.is_some_and(|due| due <= now)
                || poll && matches!(question.subject, Subject::File(_));
            if is_due {
                question.wanted.get_or_insert(now);
                question.due = None;
            }
        }
    }

    /// Starts what is wanted by then, a few at a time, and nothing twice.
    fn start_wanted(&mut self, by: Instant) {
        for index in 0..self.questions.len() {
            let is_running = self.running.iter().any(|running| running.question == index);
            let question = &mut self.questions[index];
            if self.running.len() == MOST_AT_ONCE {
                return;
            }
            if is_running || question.wanted.is_none_or(|wanted| wanted > by) {
                continue;
            }
            question.wanted = None;
            question.due = None;
            let answer: Pin<Box<dyn Future<Output = Answer>>> = match &question.subject {
                Subject::File(file) => {
                    let (file, cwd) = (Arc::clone(file), self.cwd.clone());
                    let (watch, is_over) = (self.watch.clone(), Arc::clone(&self.is_over));
                    let look = tokio::task::spawn_blocking(move || {
                        file.look(&cwd, watch.as_deref().map(|watch| (watch, index)), &is_over)
                    });
                    Box::pin(async {
                        look.await.unwrap_or_else(|failed| Answer::unknown(failed.to_string()))
                    })
                }
                Subject::Script(script) => {
                    let script = Rc::clone(script);
                    Box::pin(async move { script.run().await })
                }
            };
            self.running.push(Running { question: index, started: Instant::now(), answer });
        }
    }

    fn take_in(&mut self, (index, started, answer): (usize, Instant, Answer)) {
        let question = &mut self.questions[index];
        let now = Instant::now();
        match &question.subject {
            Subject::Script(script) => {
                question.due = script.every.map(|every| {
                    let next = started + every;
                    if next > now { next } else { now + every }
                });
            }
            // A large file that changes all the time is not read all the time.
            Subject::File(_) => {
                let rest = now + SHORTEST_REST.max((now - started) * 4);
                question.wanted = question.wanted.map(|wanted| wanted.max(rest));
            }
        }
        if answer.met.is_none() && !std::mem::replace(&mut question.has_warned, true) {
            let detail = answer.detail.as_deref().unwrap_or("no reason is known");
            self.warnings.push(format!("{}: {detail}", question.subject.could_not()));
        }
        if question.told.as_ref().is_none_or(|told| told.differs_from(&answer)) {
            question.told = Some(answer.clone());
            let key = question.key.clone();
            self.untold.push(Probe { key, met: answer.met, detail: answer.detail });
        }
    }

    fn next_wake(&self) -> Option<Instant> {
        let is_running = |index| self.running.iter().any(|running| running.question == index);
        let waiting = self.questions.iter().enumerate().filter(|(index, _)| !is_running(*index));
        let wanted = waiting.clone().filter_map(|(_, question)| question.wanted);
        // With all places taken, whoever finishes wakes us.
        let wanted = wanted.filter(|_| self.running.len() < MOST_AT_ONCE);
        let due = waiting.filter_map(|(_, question)| question.due);
        let polls = self.watch.as_ref().is_some_and(|watch| watch.is_polling());
        wanted.chain(due).chain(polls.then_some(self.next_poll)).min()
    }
}

impl Drop for Probes {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

impl std::fmt::Debug for Probes {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Probes")
            .field("questions", &self.questions.len())
            .field("running", &self.running.len())
            .finish_non_exhaustive()
    }
}

impl Question {
    fn new(key: String, subject: Subject) -> Self {
        Self { key, subject, told: None, has_warned: false, wanted: None, due: None }
    }
}

impl Subject {
    fn could_not(&self) -> String {
        match self {
            Self::File(file) => format!("could not look at `{}`", file.path.display()),
            Self::Script(script) => format!("could not run `{}`", script.name),
        }
    }
}

impl Answer {
    fn plain(met: bool) -> Self {
        Self { met: Some(met), detail: None }
    }

    fn unknown(why: impl Into<String>) -> Self {
        Self { met: None, detail: Some(why.into()) }
    }

    /// A script that prints the time does not answer anew each time.
    fn differs_from(&self, other: &Self) -> bool {
        self.met != other.met || self.met.is_none() && self.detail != other.detail
    }
}

/// The next question to be answered. Never ready if none is being asked.
async fn next_finished(running: &mut Vec<Running>) -> (usize, Instant, Answer) {
    poll_fn(|context| {
        let finished = running.iter_mut().enumerate().find_map(|(place, running)| {
            match running.answer.as_mut().poll(context) {
                Poll::Ready(answer) => Some((place, answer)),
                Poll::Pending => None,
            }
        });
        match finished {
            Some((place, answer)) => {
                let Running { question, started, .. } = running.swap_remove(place);
                Poll::Ready((question, started, answer))
            }
            None => Poll::Pending,
        }
    })
    .await
}

async fn touched(watch: Option<&FileWatch>) -> BTreeSet<usize> {
    match watch {
        Some(watch) => watch.touched().await,
        None => std::future::pending().await,
    }
}

const MOST_AT_ONCE: usize = 4;
/// How often files are looked at where they can't be watched.
const POLL_PERIOD: Duration = Duration::from_secs(1);
/// Between two looks at a file that changes.
const SHORTEST_REST: Duration = Duration::from_millis(20);
const A_LONG_TIME: Duration = Duration::from_secs(86_400);

#[cfg(test)]
mod tests;
