//! What a person sees of a log that was kept: the same as while it was written.

use super::Reading;
use super::ear::Ear;
use super::harmless::Harmless;

/// Makes the output of a run readable and harmless, iteration by iteration.
#[derive(Debug)]
pub struct Transcript {
    reading: Reading,
    /// Understands the iteration, if there is anything to be understood.
    ear: Option<Ear>,
    filter: Harmless,
}

impl Transcript {
    pub fn new(reading: Reading) -> Self {
        let ear = Ear::new(&reading, false, COLUMNS);
        Self { reading, ear, filter: Harmless::default() }
    }

    /// Appends what is seen of these bytes and those before them.
    pub fn push(&mut self, bytes: &[u8], shown: &mut String) {
        let filter = &mut self.filter;
        let Some(ear) = &mut self.ear else { return filter.push(bytes, shown) };
        ear.listen(bytes, &mut |_| {}, &mut |text| filter.push(text, shown));
    }

    /// The iteration has ended: appends the rest. The next one may follow.
    pub fn finish(&mut self, shown: &mut String) {
        let filter = &mut self.filter;
        if let Some(mut ear) = self.ear.take() {
            ear.finish(None, &mut |_| {}, &mut |text| filter.push(text, shown));
        }
        filter.finish(shown);
        self.ear = Ear::new(&self.reading, false, COLUMNS);
    }
}

/// Whoever shows it may indent it.
const COLUMNS: usize = super::display::COLUMNS - 2;

#[cfg(test)]
mod tests {
    use backstop_core::policy::AgentName;

    use super::*;

    const LOG: &str = "starting\n\
        {\"type\":\"thread.started\",\"thread_id\":\"t\"}\n\
        {\"type\":\"item.completed\",\"item\":{\"id\":\"1\",\"type\":\"agent_message\",\"text\":\"Hi.\"}}\n\
        {\"type\":\"turn.completed\",\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}\n";

    fn seen(reading: Reading, log: &str) -> String {
        let (mut transcript, mut shown) = (Transcript::new(reading), String::new());
        for _iteration in 0..2 {
            for piece in log.as_bytes().chunks(7) {
                transcript.push(piece, &mut shown);
            }
            transcript.finish(&mut shown);
        }
        shown
    }

    #[test]
    fn an_agents_records_are_made_readable_in_every_iteration() {
        assert_eq!(seen(Reading::default(), LOG), "starting\nHi.\nstarting\nHi.\n");
    }

    #[test]
    fn what_is_to_be_raw_and_what_is_no_agents_stays_as_it_is() {
        let raw = Reading { raw: true, ..Reading::default() };
        assert_eq!(seen(raw, LOG), LOG.repeat(2));
        let generic = Reading { agent: AgentName::Generic, ..Reading::default() };
        assert_eq!(seen(generic, LOG), LOG.repeat(2));
        let strangers = "{\"odd\":1}\n\x1b[31mred\x1b[0m\n";
        assert_eq!(seen(Reading::default(), strangers), "{\"odd\":1}\nred\n".repeat(2));
    }
}
