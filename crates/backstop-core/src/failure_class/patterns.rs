//! What tools write when they fail. The first entry that is found in a log counts, so what is
//! certain stands before what is likely.

use super::Class::{
    self, BuildDeterministic as Build, FlakyProbable as Flaky, InfraTransient as Infra,
    LintError as Lint, SyntaxError as Syntax,
};

/// Regular expressions, in any case, `^` and `$` at lines.
pub(super) const TABLE: &[(&str, Class)] = &[
    // The machine is gone: whatever else the log says, the work did not get to its end.
    (r"the (self-)?hosted runner.* lost communication", Infra),
    (r"the runner has received a shutdown signal", Infra),
    (r"the hosted runner encountered an error while running your job", Infra),
    (r"job was not acquired by runner", Infra),
    (r"no space left on device", Infra),
    (r"killed signal terminated program", Infra),
    (r"out of memory: killed process|oom-?kill|\bOOMKilled\b", Infra),
    (r"(process completed with|exited? with|exit) (exit )?code 137\b", Infra),
    (r"signal: 9, SIGKILL", Infra),
    (r"(javascript heap|java\.lang\.OutOfMemoryError).*(out of memory|heap space)", Infra),
    // Linters and formatters.
    (r"`-D clippy::|\bclippy::[a-z_]+\b.*(lint level|implied by)|implied by `#?\[?-?D(eny)?", Lint),
    (r"requested on the command line with `-D clippy", Lint),
    (r"✖ [0-9]+ problems? \([0-9]+ errors?", Lint),
    (r"^\S+\.py[iw]?:[0-9]+:[0-9]+: [A-Z]{1,4}[0-9]{2,4}\b", Lint),
    (r"^\S+\.py:[0-9]+:[0-9]+: [CRWEF][0-9]{4}: ", Lint),
    (r"^Found [0-9]+ errors?\.( \[\*\] [0-9]+ fixable)?", Lint),
    (r"code style issues (found|in)|run prettier .*to fix", Lint),
    (r"^diff in \S+\.rs(:| at line )[0-9]+", Lint),
    (r"would be reformatted|^would reformat:? ", Lint),
    (r"^[0-9]+ files? inspected, .*[1-9][0-9]* offenses? detected", Lint),
    (
        r"\(https?://www\.shellcheck\.net/wiki/SC[0-9]{4}\)|^\S+:[0-9]+:[0-9]+: .*\[SC[0-9]{4}\]",
        Lint,
    ),
    (r"^\S+\.md:[0-9]+(:[0-9]+)? (error )?MD[0-9]{3}/", Lint),
    (
        r"^\S+\.go:[0-9]+:[0-9]+: .* \((errcheck|staticcheck|govet|gosimple|ineffassign|unused|revive|gofmt|goimports|gocritic|lll|misspell)\)$",
        Lint,
    ),
    (r"^\S*Dockerfile\S*:[0-9]+ DL[0-9]{4} ", Lint),
    (r"\[ktlint|\bcheckstyle violations?\b|you have [0-9]+ checkstyle|detekt found [0-9]+", Lint),
    (r"^✖ +found [1-9][0-9]* problems?, [0-9]+ warnings?", Lint),
    (
        r"^\S+\.(c|cc|cpp|h|hpp):[0-9]+:[0-9]+: error: .* \[[a-z]+-[a-z-]+.*-warnings-as-errors\]",
        Lint,
    ),
    // What a compiler or interpreter can't even read.
    (r"error TS1[0-9]{3}: ", Syntax),
    (
        r"^error: (expected one of|expected `|expected expression|this file contains an unclosed delimiter|mismatched closing delimiter|unexpected closing delimiter|unterminated double quote)",
        Syntax,
    ),
    (r"\b(Indentation|Tab)Error: ", Syntax),
    (
        r"SyntaxError: (invalid|expected|unterminated|unmatched|unexpected EOF|unexpected indent|'.*' was never closed|cannot assign|missing|unexpected (identifier|end of input|strict mode|reserved word)|unexpected token \S+$|/|\S+\.[cm]?[jt]sx?[: ])",
        Syntax,
    ),
    (
        r"\.java:[0-9]+: error: ('.*' expected|illegal start of|class, interface, .*expected|reached end of file while parsing|unclosed )",
        Syntax,
    ),
    (r"\bsyntax error\b", Syntax),
    (
        r"\bparse error: |parsing error: |failed to parse manifest|could not parse input as TOML|TOML parse error",
        Syntax,
    ),
    (r"^yaml: line [0-9]+: |yaml\.(scanner|parser)\.\w+Error|invalid workflow file", Syntax),
    // Compilers, linkers, type checkers.
    (r"^error\[E[0-9]{4}\]", Build),
    (r"^error: could not compile `", Build),
    (r"error TS[0-9]{4,5}: ", Build),
    (r"^\S+\.(c|cc|cpp|cxx|h|hh|hpp|m|mm|cu):[0-9]+(:[0-9]+)?: (fatal )?error: ", Build),
    (
        r"undefined reference to `|ld: symbol\(s\) not found|error LNK[0-9]{4}|linker command failed",
        Build,
    ),
    (
        r"^\S*\.java:\[?[0-9]+.*(error:|cannot find symbol)|\bCOMPILATION ERROR\b|compilation failed; see the compiler",
        Build,
    ),
    (r"^e: (file://)?\S+\.kts?:", Build),
    (
        r"\[build failed\]$|^(\./)?\S+\.go:[0-9]+:[0-9]+: (undefined: |cannot use|declared and not used|.* imported and not used|missing return|too many arguments|not enough arguments|assignment mismatch)",
        Build,
    ),
    (r"error CS[0-9]{4}: |error FS[0-9]{4}: ", Build),
    (r"^\S+\.swift:[0-9]+:[0-9]+: error: ", Build),
    (r"^\S+\.py:[0-9]+: error: .*\[[a-z-]+\]$|^Found [0-9]+ errors? in [0-9]+ files?", Build),
    (
        r"\b(ModuleNotFoundError|ImportError): |Error: Cannot find module '|Module not found: Error: Can't resolve",
        Build,
    ),
    (
        r"npm (ERR!|error) (code )?(ERESOLVE|EUSAGE)|lockfile (needs to be updated|would have been modified)|the lock file .* needs to be updated|Your lockfile .*frozen",
        Build,
    ),
    (
        r"no matching package named `|failed to select a version for|ResolutionImpossible|no version .* satisfies",
        Build,
    ),
    // Tools that say themselves that another attempt may pass, and tests that ran out of time.
    (
        r"^\s*[1-9][0-9]* flaky\b|\bflaky\b.*\b(test|passed|retr)|\bFLAKY [0-9]+/[0-9]+|\[flaky\]|passed on (retry|attempt)",
        Flaky,
    ),
    (
        r"exceeded timeout of [0-9]+ ?ms for a (test|hook)|test timeout of [0-9]+ms exceeded|timeout of [0-9]+ms exceeded\. for async",
        Flaky,
    ),
    (
        r"panic: test timed out after|^Failed: Timeout >|E\s+Failed: Timeout|TestTimedOutException|test timed out in [0-9]+ms",
        Flaky,
    ),
    (
        r"StaleElementReference|ElementClickIntercepted|element is not attached|Timed out retrying after [0-9]+ms|waiting for (selector|locator)",
        Flaky,
    ),
    (r"WARNING: DATA RACE|WARNING: ThreadSanitizer: data race", Flaky),
    (r"EADDRINUSE|address already in use|port is already allocated", Flaky),
    (r"deadlock detected|database is locked|could not serialize access", Flaky),
    // Networks, registries and other people's servers.
    (
        r"\b(ECONNRESET|ETIMEDOUT|ECONNREFUSED|EAI_AGAIN|ENETUNREACH|EHOSTUNREACH|ERR_SOCKET_TIMEOUT|socket hang up)\b",
        Infra,
    ),
    (
        r"connection (reset by peer|timed out|refused|was reset|aborted)|network is unreachable|no route to host|broken pipe \(os error",
        Infra,
    ),
    (
        r"(could not resolve|couldn't resolve|unable to resolve) host|temporary failure in name resolution|no such host|name or service not known",
        Infra,
    ),
    (
        r"TLS handshake timeout|SSL_ERROR_SYSCALL|unexpected eof while reading|operation timed out|i/o timeout|context deadline exceeded",
        Infra,
    ),
    (
        r"\b(429|500|502|503|504)\b[: ,(]+(too many requests|internal server error|bad gateway|service (temporarily )?unavailable|gateway time-?out)",
        Infra,
    ),
    (r"(status|error|http|code|returned error)[:= /0-9.]*\b(429|502|503|504)\b", Infra),
    (
        r"toomanyrequests|rate limit exceeded|API rate limit|secondary rate limit|pull rate limit",
        Infra,
    ),
    (
        r"spurious network error|failed to download from `|failed to fetch `https|failed to get `.*` as a dependency",
        Infra,
    ),
    (
        r"fatal: unable to access 'https?://|the remote end hung up unexpectedly|early EOF|RPC failed; (curl|HTTP)",
        Infra,
    ),
    (
        r"failed to fetch .*\.deb|hash sum mismatch|could not get lock /var/lib|unable to fetch some archives",
        Infra,
    ),
    (
        r"could not transfer artifact|could not (GET|HEAD) 'https?://|ReadTimeoutError|NewConnectionError|IncompleteRead",
        Infra,
    ),
    (
        r"failed to (restore|save|download|upload) .*(cache|artifact).*(error|timed? ?out|unavailable)|unable to (download|get) action",
        Infra,
    ),
];

/// Steps in which nothing of the work runs.
pub(super) const STEPS_OF_THE_MACHINERY: [&str; 4] =
    ["set up job", "initialize containers", "set up runner", "complete job"];

/// Words in the names of steps that lint or format.
pub(super) const WORDS_OF_LINTERS: [&str; 14] = [
    "lint",
    "linter",
    "linters",
    "linting",
    "eslint",
    "clippy",
    "fmt",
    "rustfmt",
    "gofmt",
    "prettier",
    "ruff",
    "flake8",
    "stylelint",
    "golangci",
];
