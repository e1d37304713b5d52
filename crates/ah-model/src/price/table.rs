//! The price list that ships: the vendors' list prices as they were known in January 2026, in US
//! dollars per million tokens, without discounts, batches or surcharges for long prompts.

use super::{Price, Rates};

/// Model, the first day, then input, output, cache read and cache write in millionths of a dollar.
/// The first price of a model has no day: nobody used it before. Who asks nothing for cache writes
/// counts them as input.
type Row = (&'static str, &'static str, [u64; 4]);

const OPUS_4: [u64; 4] = [15_000_000, 75_000_000, 1_500_000, 18_750_000];
const OPUS_4_5: [u64; 4] = [5_000_000, 25_000_000, 500_000, 6_250_000];
const SONNET: [u64; 4] = [3_000_000, 15_000_000, 300_000, 3_750_000];
const GPT_5: [u64; 4] = [1_250_000, 10_000_000, 125_000, 1_250_000];

const ROWS: &[Row] = &[
    ("claude-opus-4", "", OPUS_4),
    ("claude-opus-4-0", "", OPUS_4),
    ("claude-opus-4-1", "", OPUS_4),
    ("claude-opus-4-5", "", OPUS_4_5),
    ("claude-opus-4-6", "", OPUS_4_5),
    ("claude-3-5-sonnet", "", SONNET),
    ("claude-3-5-sonnet-latest", "", SONNET),
    ("claude-3-7-sonnet", "", SONNET),
    ("claude-3-7-sonnet-latest", "", SONNET),
    ("claude-sonnet-4", "", SONNET),
    ("claude-sonnet-4-0", "", SONNET),
    ("claude-sonnet-4-5", "", SONNET),
    ("claude-haiku-4-5", "", [1_000_000, 5_000_000, 100_000, 1_250_000]),
    ("claude-3-5-haiku", "", [800_000, 4_000_000, 80_000, 1_000_000]),
    ("claude-3-5-haiku-latest", "", [800_000, 4_000_000, 80_000, 1_000_000]),
    ("gpt-5", "", GPT_5),
    ("gpt-5-codex", "", GPT_5),
    ("gpt-5.1", "", GPT_5),
    ("gpt-5.1-codex", "", GPT_5),
    ("gpt-5-mini", "", [250_000, 2_000_000, 25_000, 250_000]),
    ("gpt-5-nano", "", [50_000, 400_000, 5_000, 50_000]),
    ("gpt-4.1", "", [2_000_000, 8_000_000, 500_000, 2_000_000]),
    ("gpt-4o", "", [2_500_000, 10_000_000, 1_250_000, 2_500_000]),
    ("o3", "", [10_000_000, 40_000_000, 2_500_000, 10_000_000]),
    ("o3", "2025-06-10", [2_000_000, 8_000_000, 500_000, 2_000_000]),
    ("o4-mini", "", [1_100_000, 4_400_000, 275_000, 1_100_000]),
    ("codex-mini-latest", "", [1_500_000, 6_000_000, 375_000, 1_500_000]),
    ("gemini-2.5-pro", "", [1_250_000, 10_000_000, 310_000, 1_250_000]),
    ("gemini-2.5-flash", "", [300_000, 2_500_000, 75_000, 300_000]),
];

pub(super) fn listed() -> Vec<Price> {
    let price = |(model, from, [input, output, cache_read, cache_write]): &Row| Price {
        model: (*model).to_owned(),
        from: from.parse().ok(),
        rates: Rates {
            input: *input,
            output: *output,
            cache_read: *cache_read,
            cache_write: *cache_write,
        },
    };
    ROWS.iter().map(price).collect()
}
