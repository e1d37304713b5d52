//! How costs are shown: a table with bars on a terminal, JSON, comma-separated values.

use std::io::IsTerminal;

use ah_model::{Cost, Spent, Usage};
use serde::Serialize;

use crate::app::App;
use crate::output::{line, table};

/// What was spent, by one thing, and together.
#[derive(Serialize)]
pub(super) struct Report {
    pub(super) by: &'static str,
    pub(super) groups: Vec<Group>,
    pub(super) total: Numbers,
}

/// One line.
#[derive(Serialize)]
pub(super) struct Group {
    /// The day, model, agent kind, session's id or repository's number.
    pub(super) key: String,
    /// Where the repository is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) place: Option<String>,
    #[serde(flatten)]
    pub(super) numbers: Numbers,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Numbers {
    usage: Usage,
    total_tokens: u64,
    /// As far as it is known; absent when no price is.
    cost_usd: Option<f64>,
    /// The tokens whose price is not known.
    unpriced_tokens: u64,
    #[serde(skip)]
    cost: Cost,
}

impl From<Spent> for Numbers {
    fn from(spent: Spent) -> Self {
        let Spent { usage, cost, unpriced } = spent;
        let total_tokens = usage.total();
        let is_known = unpriced == 0 || unpriced < total_tokens;
        let cost_usd = is_known.then(|| cost.usd());
        Self { usage, total_tokens, cost_usd, unpriced_tokens: unpriced, cost }
    }
}

impl Numbers {
    /// Tokens by kind and together; CSV and the table have the same columns.
    fn tokens(&self) -> [u64; 6] {
        let usage = self.usage;
        [
            usage.input_tokens,
            usage.output_tokens,
            usage.reasoning_tokens,
            usage.cache_read_tokens,
            usage.cache_write_tokens,
            self.total_tokens,
        ]
    }

    /// `?` when it is not known, `≥` when it is only known in part.
    fn shown_cost(&self) -> String {
        match (self.cost_usd, self.unpriced_tokens) {
            (None, _) => "?".to_owned(),
            (Some(_), 0) => dollars(self.cost),
            (Some(_), _) => format!("≥{}", dollars(self.cost)),
        }
    }
}

/// Dollars with four digits behind the point.
fn dollars(cost: Cost) -> String {
    let tenths_of_mills = cost.nanos().saturating_add(50_000) / 100_000;
    format!("${}.{:04}", tenths_of_mills / 10_000, tenths_of_mills % 10_000)
}

/// What is said of sessions that name no model.
const NAMELESS: &str = "(unknown)";

/// Longest name in a table.
const NAME_CHARS_MAX: usize = 48;

/// The table; with bars when there is a terminal that is wide enough.
pub(super) fn human(report: &Report, terminal: Option<usize>) -> String {
    let by = report.by.to_uppercase();
    let header: [&str; 8] =
        [&by, "INPUT", "OUTPUT", "REASONING", "CACHE READ", "CACHE WRITE", "TOTAL", "COST"];
    let mut rows: Vec<Vec<String>> =
        report.groups.iter().map(|group| row(&name(group), &group.numbers)).collect();
    rows.push(row("total", &report.total));
    let header = aligned(&header, &mut rows);
    let names: Vec<&str> = header.iter().map(String::as_str).collect();
    let text = table(&names, &rows);
    let text = match terminal {
        Some(columns) => with_bars(&text, report, columns),
        None => text,
    };
    match report.total.unpriced_tokens {
        0 => text,
        tokens => format!("{text}the price of {tokens} tokens is not known: see prices.toml\n"),
    }
}

fn name(group: &Group) -> String {
    let name = group.place.as_ref().unwrap_or(&group.key);
    line(if name.is_empty() { NAMELESS } else { name }, NAME_CHARS_MAX)
}

fn row(name: &str, numbers: &Numbers) -> Vec<String> {
    let mut row = vec![name.to_owned()];
    row.extend(numbers.tokens().map(|tokens| tokens.to_string()));
    row.push(numbers.shown_cost());
    row
}

/// Moves every column but the first to the right, for that is how numbers are compared.
fn aligned(header: &[&str], rows: &mut [Vec<String>]) -> Vec<String> {
    let mut header: Vec<String> = header.iter().map(|&name| name.to_owned()).collect();
    for column in 1..header.len() {
        let mut cells: Vec<&mut String> = header.get_mut(column).into_iter().collect();
        cells.extend(rows.iter_mut().filter_map(|row| row.get_mut(column)));
        let width = cells.iter().map(|cell| cell.chars().count()).max().unwrap_or(0);
        for cell in cells {
            *cell = format!("{cell:>width$}");
        }
    }
    header
}

/// A bar is drawn when so many columns are left for it, and takes at most so many.
const BAR_MIN: usize = 8;
const BAR_MAX: usize = 40;

/// The lines of groups with bars behind them: their cost, or their tokens when no cost is known.
fn with_bars(text: &str, report: &Report, columns: usize) -> String {
    let used = text.lines().map(|line| line.chars().count()).max().unwrap_or(0) + 2;
    let width = columns.saturating_sub(used).min(BAR_MAX);
    if width < BAR_MIN {
        return text.to_owned();
    }
    let costs = report.groups.iter().any(|group| group.numbers.cost > Cost::default());
    let size = |numbers: &Numbers| match costs {
        true => numbers.cost.nanos(),
        false => numbers.total_tokens,
    };
    let sizes: Vec<u64> = report.groups.iter().map(|group| size(&group.numbers)).collect();
    let largest = sizes.iter().copied().max().unwrap_or(0);
    // The header has no bar, and behind the groups comes the total, which has none either.
    let bars = [String::new()].into_iter().chain(sizes.iter().map(|s| bar(*s, largest, width)));
    let lines = text.lines().zip(bars.chain([String::new()]));
    lines.map(|(line, bar)| format!("{line}  {bar}").trim_end().to_owned() + "\n").collect()
}

/// `part` of `whole` as a line of blocks, in eighths of one.
fn bar(part: u64, whole: u64, width: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = u128::from(part) * (width as u128 * 8) / u128::from(whole.max(1));
    let eighths = usize::try_from(eighths).unwrap_or(0);
    // What cost something is seen.
    let eighths = if part > 0 { eighths.max(1) } else { eighths };
    let rest = EIGHTHS.get(eighths % 8).copied().unwrap_or_default();
    format!("{}{rest}", "█".repeat(eighths / 8))
}

/// The columns of the terminal that results go to, if it is one.
pub(super) fn terminal_width(app: &App) -> Option<usize> {
    const USUAL: usize = 80;
    let stdout = std::io::stdout();
    if !stdout.is_terminal() {
        return None;
    }
    #[cfg(unix)]
    let asked = rustix::termios::tcgetwinsize(&stdout).ok().map(|size| usize::from(size.ws_col));
    #[cfg(not(unix))]
    let asked = None;
    let told = || app.environment.var("COLUMNS").and_then(|columns| columns.parse().ok());
    Some(asked.filter(|columns| *columns > 0).or_else(told).unwrap_or(USUAL))
}

/// Comma-separated values: a line of names, then one for each group.
pub(super) fn csv(report: &Report) -> String {
    let names = "inputTokens,outputTokens,reasoningTokens,cacheReadTokens,cacheWriteTokens,\
                 totalTokens,costUsd,unpricedTokens";
    let mut text = match report.by {
        "repo" => format!("repo,place,{names}\n"),
        by => format!("{by},{names}\n"),
    };
    for Group { key, place, numbers } in &report.groups {
        let place = place.as_ref().filter(|_| report.by == "repo");
        let names = [Some(key), place].into_iter().flatten().map(|name| quoted(name));
        let tokens = numbers.tokens().map(|tokens| tokens.to_string());
        let cost = numbers.cost_usd.map(|cost| cost.to_string()).unwrap_or_default();
        let last = [cost, numbers.unpriced_tokens.to_string()];
        let cells: Vec<String> = names.chain(tokens).chain(last).collect();
        text.push_str(&cells.join(","));
        text.push('\n');
    }
    text
}

/// A value as RFC 4180 has it.
fn quoted(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(input_tokens: u64, nanos: u64, unpriced: u64) -> Numbers {
        let usage = Usage { input_tokens, ..Usage::default() };
        Spent { usage, cost: Cost::from_nanos(nanos), unpriced }.into()
    }

    fn report(groups: Vec<(&str, Numbers)>, total: Numbers) -> Report {
        let group =
            |(key, numbers): (&str, Numbers)| Group { key: key.to_owned(), place: None, numbers };
        Report { by: "model", groups: groups.into_iter().map(group).collect(), total }
    }

    fn two() -> Report {
        let groups = vec![("a,\"b\"", numbers(1_000, 2_500_049_999, 0)), ("", numbers(7, 0, 7))];
        report(groups, numbers(1_007, 2_500_049_999, 7))
    }

    #[test]
    fn unknown_prices_are_marked_and_the_total_is_a_lower_bound() {
        let text = human(&two(), None);
        let expected = "\
MODEL      INPUT  OUTPUT  REASONING  CACHE READ  CACHE WRITE  TOTAL      COST
a,\"b\"       1000       0          0           0            0   1000   $2.5000
(unknown)      7       0          0           0            0      7         ?
total       1007       0          0           0            0   1007  ≥$2.5000
the price of 7 tokens is not known: see prices.toml
";
        assert_eq!(text, expected);
    }

    #[test]
    fn bars_are_as_wide_as_the_terminal_allows_and_never_wider() {
        let widest = |columns| {
            let text = human(&two(), Some(columns));
            text.lines().take(4).map(|line| line.chars().count()).max().unwrap()
        };
        let plain = widest(0);
        assert_eq!((widest(plain + 2 + BAR_MIN - 1), plain), (plain, plain), "no room");
        assert_eq!(widest(plain + 2 + BAR_MIN), plain + 2 + BAR_MIN);
        assert_eq!(widest(10_000), plain + 2 + BAR_MAX);
    }

    #[test]
    fn a_bar_is_its_part_of_the_largest_in_eighths() {
        for (part, whole, text) in [
            (0, 10, ""),
            (10, 10, "██"),
            (5, 10, "█"),
            (9, 16, "█▏"),
            (1, 1_000_000, "▏"),
            (0, 0, ""),
            (u64::MAX, u64::MAX, "██"),
        ] {
            assert_eq!(bar(part, whole, 2), text, "{part} of {whole}");
        }
    }

    #[test]
    fn names_that_need_it_are_quoted_and_unknown_costs_are_empty() {
        let text = csv(&two());
        let lines: Vec<_> = text.lines().skip(1).collect();
        let expected = ["\"a,\"\"b\"\"\",1000,0,0,0,0,1000,2.500049999,0", ",7,0,0,0,0,7,,7"];
        assert_eq!(lines, expected);
    }
}
