//! A stream that looks like one of Claude Code, of any length and the same each time.

use serde_json::json;

/// Makes lines: sessions of turns, each a few words, one to three calls and their results.
#[derive(Debug)]
pub struct Stream {
    random: u64,
    session: u64,
    turn: u64,
    lines: Vec<u8>,
    source: String,
}

impl Stream {
    pub fn new(seed: u64) -> Self {
        let mut stream = Self {
            random: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            session: 0,
            turn: 0,
            lines: Vec::new(),
            source: String::new(),
        };
        stream.source = stream.code(LARGEST);
        stream
    }

    /// The beginning of the stream, of about this length.
    pub fn take(mut self, length: usize) -> Vec<u8> {
        let mut all = Vec::new();
        while all.len() < length {
            all.extend_from_slice(self.some());
        }
        all
    }

    /// The next few lines.
    pub fn some(&mut self) -> &[u8] {
        self.lines.clear();
        if self.turn.is_multiple_of(TURNS) {
            self.session += 1;
            self.begin();
        }
        self.turn += 1;
        self.turn();
        if self.turn.is_multiple_of(TURNS) {
            self.end();
        }
        &self.lines
    }

    fn begin(&mut self) {
        let tools = ["Task", "Bash", "Glob", "Grep", "Read", "Edit", "Write", "TodoWrite"];
        self.push(&json!({
            "type": "system", "subtype": "init", "cwd": "/home/user/project",
            "session_id": self.session_id(), "tools": tools, "mcp_servers": [],
            "model": MODEL, "permissionMode": "bypassPermissions", "apiKeySource": "none",
            "uuid": self.identifier("init"),
        }));
    }

    fn turn(&mut self) {
        let message = self.identifier("msg");
        let words = 200 + self.below(1_800);
        let text = self.excerpt(words);
        self.assistant(&message, json!({ "type": "text", "text": text }));
        let calls = 1 + self.below(3);
        for call in 0..calls {
            let id = format!("{message}-{call}");
            let place = self.below(40);
            let block = match self.below(4) {
                0 => json!({
                    "type": "tool_use", "id": id, "name": "Edit",
                    "input": {
                        "file_path": format!("/home/user/project/src/part_{place}.rs"),
                        "old_string": self.excerpt(400), "new_string": self.excerpt(600),
                    },
                }),
                1 => json!({
                    "type": "tool_use", "id": id, "name": "Read",
                    "input": { "file_path": format!("/home/user/project/src/part_{place}.rs") },
                }),
                _ => json!({
                    "type": "tool_use", "id": id, "name": "Bash",
                    "input": {
                        "command": format!("cargo test -p part_{place} -- --nocapture"),
                        "description": "Runs the tests of one part",
                    },
                }),
            };
            self.assistant(&message, block);
        }
        for call in 0..calls {
            self.result(&format!("{message}-{call}"));
        }
    }

    fn assistant(&mut self, message: &str, block: serde_json::Value) {
        self.push(&json!({
            "type": "assistant",
            "message": {
                "id": message, "type": "message", "role": "assistant", "model": MODEL,
                "content": [block], "stop_reason": null, "stop_sequence": null,
                "usage": {
                    "input_tokens": 4, "cache_creation_input_tokens": 812,
                    "cache_read_input_tokens": 41_000 + self.turn, "output_tokens": 3,
                    "service_tier": "standard",
                },
            },
            "parent_tool_use_id": null, "session_id": self.session_id(),
            "uuid": self.identifier("line"),
        }));
    }

    /// Most are small, many are files, and now and then one is a megabyte.
    fn result(&mut self, call: &str) {
        let length = match self.below(100) {
            0 => LARGEST,
            1..30 => 5_000 + self.below(45_000),
            _ => 80 + self.below(1_500),
        };
        let text = self.excerpt(length);
        self.push(&json!({
            "type": "user",
            "message": {
                "role": "user",
                "content": [{ "tool_use_id": call, "type": "tool_result", "content": text }],
            },
            "parent_tool_use_id": null, "session_id": self.session_id(),
            "uuid": self.identifier("line"),
            "tool_use_result": { "stdout": "", "stderr": "", "interrupted": false },
        }));
    }

    fn end(&mut self) {
        self.push(&json!({
            "type": "result", "subtype": "success", "is_error": false, "duration_ms": 812_000,
            "duration_api_ms": 700_000, "num_turns": TURNS, "result": "All parts are done.",
            "session_id": self.session_id(), "total_cost_usd": 1.25,
            "usage": {
                "input_tokens": 200, "cache_creation_input_tokens": 40_000,
                "cache_read_input_tokens": 2_000_000, "output_tokens": 21_000,
            },
            "permission_denials": [], "uuid": self.identifier("result"),
        }));
    }

    fn push(&mut self, line: &serde_json::Value) {
        self.lines.extend(line.to_string().into_bytes());
        self.lines.push(b'\n');
    }

    fn session_id(&self) -> String {
        format!("979bd64b-0000-4000-8000-{:012x}", self.session)
    }

    fn identifier(&self, kind: &str) -> String {
        format!("{kind}_01{:06x}{:010x}", self.session, self.turn)
    }

    /// A piece of source text from anywhere.
    fn excerpt(&mut self, length: usize) -> String {
        let start = self.below(self.source.len().saturating_sub(length) + 1);
        self.source[start..(start + length).min(self.source.len())].to_owned()
    }

    /// Text with the quotes, indents and line ends that make escapes.
    fn code(&mut self, length: usize) -> String {
        let words = ["let", "value", "=", "parse(", ")?;", "fn", "match", "self", "\"text\"", "=>"];
        let mut code = String::with_capacity(length + 80);
        while code.len() < length {
            code.push_str(&" ".repeat(4 * self.below(4)));
            for _ in 0..3 + self.below(9) {
                code.push_str(words[self.below(words.len())]);
                code.push(' ');
            }
            code.push('\n');
        }
        code.truncate(length);
        code
    }

    fn below(&mut self, bound: usize) -> usize {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random % bound.max(1) as u64) as usize
    }
}

const MODEL: &str = "claude-opus-4-5-20251101";
/// How many turns a session has.
const TURNS: u64 = 60;
const LARGEST: usize = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_lines_and_all_of_them_are_json() {
        let stream = Stream::new(7).take(3_000_000);
        assert_eq!(stream, Stream::new(7).take(3_000_000));
        let lines: Vec<_> = stream.split(|&byte| byte == b'\n').filter(|l| !l.is_empty()).collect();
        assert!(lines.len() > 100);
        for line in lines {
            serde_json::from_slice::<serde_json::Value>(line).expect("JSON");
        }
    }
}
