//! `ah stats`: tokens and dollars of imported transcripts, which agree with ccusage.
//!
//! `ccusage/` holds what that independent program says about the transcripts of ah-import's tests,
//! recorded because it comes from a package registry that a test may not reach. Each transcript was
//! put below `projects` or `sessions` of an empty directory, then:
//! - `CLAUDE_CONFIG_DIR=DIR ccusage daily --offline --json --breakdown --timezone UTC` (17.2.1)
//! - `CODEX_HOME=DIR ccusage-codex daily --offline --json --timezone UTC` (`@ccusage/codex` 18.0.11)

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::answers::errors;
use crate::remote::Server;
use crate::support::Home;

fn transcripts(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../ah-import/tests/it/fixtures").join(name)
}

fn import(home: &Home, program: &str, name: &str) {
    let place = transcripts(&format!("{program}/{name}"));
    home.json(&["import", program, place.to_str().unwrap()]);
}

/// The only day of the recorded output.
fn recorded(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/ccusage").join(name);
    let text = std::fs::read_to_string(path).unwrap();
    let recorded: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(recorded["daily"].as_array().unwrap().len(), 1);
    recorded["daily"][0].clone()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is a number"))
}

/// Input, output with reasoning, cache reads and cache writes, as ccusage counts them.
fn of_claude(said: &Value) -> [u64; 4] {
    ["inputTokens", "outputTokens", "cacheReadTokens", "cacheCreationTokens"]
        .map(|key| number(&said[key]))
}

/// The same of Codex, whose input is counted with what was read from a cache.
fn of_codex(said: &Value) -> [u64; 4] {
    let cached = number(&said["cachedInputTokens"]);
    [number(&said["inputTokens"]) - cached, number(&said["outputTokens"]), cached, 0]
}

/// The same of a line of `ah stats`.
fn of_ah(group: &Value) -> [u64; 4] {
    let usage = &group["usage"];
    let output = number(&usage["outputTokens"]) + number(&usage["reasoningTokens"]);
    let [input, read, write] =
        ["inputTokens", "cacheReadTokens", "cacheWriteTokens"].map(|key| number(&usage[key]));
    assert_eq!(number(&group["totalTokens"]), input + output + read + write);
    [input, output, read, write]
}

/// A line of `ah stats --by WHAT`, by its key.
fn group(home: &Home, by: &str, key: &str) -> Value {
    let report = home.json(&["stats", "--by", by]);
    let groups = report["groups"].as_array().unwrap();
    let found = groups.iter().find(|group| group["key"] == key);
    found.unwrap_or_else(|| panic!("{key} is in {report}")).clone()
}

/// Whether two amounts of dollars are the same to a billionth.
fn same_dollars(ours: &Value, theirs: &Value) -> bool {
    (ours.as_f64().unwrap() - theirs.as_f64().unwrap()).abs() < 1e-9
}

#[test]
fn tokens_and_dollars_of_claude_code_are_those_that_ccusage_counts() {
    let home = Home::new();
    import(&home, "claude-code", "2.0.77");
    let day = recorded("claude-code-2.0.77.json");
    let ours = group(&home, "day", "2026-11-15");
    assert_eq!(of_ah(&ours), of_claude(&day));
    assert!(same_dollars(&ours["costUsd"], &day["totalCost"]), "{ours} {day}");
    let models = day["modelBreakdowns"].as_array().unwrap();
    assert_eq!(models.len(), 2);
    for model in models {
        let ours = group(&home, "model", model["modelName"].as_str().unwrap());
        assert_eq!(of_ah(&ours), of_claude(model));
        assert!(same_dollars(&ours["costUsd"], &model["cost"]), "{ours} {model}");
    }
    assert_eq!(home.json(&["db", "check"])["ok"], true);
}

#[test]
fn tokens_of_a_model_without_a_price_are_counted_and_its_cost_is_unknown() {
    let home = Home::new();
    import(&home, "claude-code", "2.1.325");
    let day = recorded("claude-code-2.1.325.json");
    let ours = group(&home, "day", "2026-11-15");
    assert_eq!(of_ah(&ours), of_claude(&day));
    assert_eq!(of_ah(&group(&home, "model", "claude-opus-5-5")), of_claude(&day));
    assert_eq!([&ours["costUsd"], &ours["unpricedTokens"]], [&Value::Null, &ours["totalTokens"]]);
}

#[test]
fn tokens_and_dollars_of_codex_are_those_that_ccusage_counts() {
    let home = Home::new();
    import(&home, "codex", "0.166.0");
    let day = recorded("codex-0.166.0.json");
    let ours = group(&home, "day", "2026-11-15");
    assert_eq!(of_ah(&ours), of_codex(&day));
    assert_eq!(ours["usage"]["reasoningTokens"], day["reasoningOutputTokens"]);
    assert!(same_dollars(&ours["costUsd"], &day["costUSD"]), "{ours} {day}");
    for (model, said) in day["models"].as_object().unwrap() {
        assert_eq!(of_ah(&group(&home, "model", model)), of_codex(said));
    }
}

/// The numbers of tokens that a transcript of Codex 0.89.0 tells: in all so far, and of the last
/// answer.
fn told_by_old_codex() -> Vec<(Value, Value)> {
    let directory = transcripts("codex/0.89.0");
    let file = std::fs::read_dir(directory).unwrap().next().unwrap().unwrap().path();
    let text = std::fs::read_to_string(file).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let told = lines.filter(|line| line["payload"]["type"] == "token_count");
    let told = told.map(|line| line["payload"]["info"].clone()).filter(|info| !info.is_null());
    let both = |info: Value| (info["total_token_usage"].clone(), info["last_token_usage"].clone());
    told.map(both).collect()
}

/// Input without cache, output and cache reads, in the words of Codex.
fn in_codex(told: &Value) -> [u64; 4] {
    let [input, cached, output] =
        ["input_tokens", "cached_input_tokens", "output_tokens"].map(|key| number(&told[key]));
    [input - cached, output, cached, 0]
}

#[test]
fn what_old_codex_tells_twice_counts_once_where_ccusage_counts_it_again() {
    let home = Home::new();
    import(&home, "codex", "0.89.0");
    let ours = of_ah(&group(&home, "day", "2026-11-15"));
    let told = told_by_old_codex();
    assert_eq!(ours, in_codex(&told.last().unwrap().0), "what the program says itself");
    let again = told.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| in_codex(&pair[1].1));
    let with_repeats = again.fold(ours, |sum, more| [0, 1, 2, 3].map(|at| sum[at] + more[at]));
    assert_ne!(ours, with_repeats);
    assert_eq!(of_codex(&recorded("codex-0.89.0.json")), with_repeats);
}

fn spend(home: &Home, session: &str, ts: &str, data: &Value) {
    let data = data.to_string();
    let args = ["session", "append", session, "--type", "usage", "--data", &data, "--ts", ts];
    home.json(&args);
}

/// Two sessions that spent something on two days.
fn spent() -> Home {
    let home = Home::new();
    home.create_session("s1");
    home.create_session("s2");
    let tokens = |input: u64, model: &str| json!({"usage": {"inputTokens": input}, "model": model});
    spend(&home, "s1", "2026-01-01T23:59:59Z", &tokens(1_000_000, "gpt-5"));
    spend(&home, "s1", "2026-01-02T00:00:00Z", &tokens(2_000_000, "gpt-5-2025-08-07"));
    spend(&home, "s2", "2026-01-02T12:00:00Z", &tokens(500, "house,model"));
    let told = json!({"usage": {"outputTokens": 9}, "model": "house,model", "costUsd": 0.5});
    spend(&home, "s2", "2026-01-02T12:00:00Z", &told);
    home
}

/// The keys and costs of a report.
fn lines(report: &Value) -> Vec<(String, Value)> {
    let groups = report["groups"].as_array().unwrap();
    groups
        .iter()
        .map(|group| (group["key"].as_str().unwrap().to_owned(), group["costUsd"].clone()))
        .collect()
}

#[test]
fn costs_are_added_up_by_each_thing_and_narrowed_by_flags() {
    let home = spent();
    let check = |args: &[&str], expected: &[(&str, f64)]| {
        let report = home.json(&[&["stats"], args].concat());
        let expected: Vec<_> =
            expected.iter().map(|(key, cost)| ((*key).to_owned(), json!(cost))).collect();
        assert_eq!(lines(&report), expected, "{args:?}");
    };
    check(&[], &[("2026-01-01", 1.25), ("2026-01-02", 3.0)]);
    check(&["--by", "model"], &[("gpt-5-2025-08-07", 2.5), ("gpt-5", 1.25), ("house,model", 0.5)]);
    check(&["--by", "session"], &[("s1", 3.75), ("s2", 0.5)]);
    check(&["--by", "agent"], &[("tester", 4.25)]);
    check(&["--since", "2026-01-02"], &[("2026-01-02", 3.0)]);
    check(&["--until", "2026-01-01"], &[("2026-01-01", 1.25)]);
    check(&["--since", "1d"], &[]);
    check(&["--session", "s1", "--by", "session"], &[("s1", 3.75)]);
    check(&["--agent", "codex"], &[]);
    check(&["--repo", home.path().to_str().unwrap()], &[]);
    let by_repo = home.json(&["stats", "--by", "repo"]);
    let place = home.work().canonicalize().unwrap();
    assert_eq!(by_repo["groups"][0]["place"], place.to_str().unwrap());
    let total = home.json(&["stats"])["total"].clone();
    assert_eq!([&total["costUsd"], &total["unpricedTokens"]], [&json!(4.25), &json!(500)]);
}

#[test]
fn people_get_a_table_and_programs_lines_of_values() {
    let home = spent();
    let output = home.run(&["stats", "--by", "model"]);
    let expected = "\
MODEL               INPUT  OUTPUT  REASONING  CACHE READ  CACHE WRITE    TOTAL      COST
gpt-5-2025-08-07  2000000       0          0           0            0  2000000   $2.5000
gpt-5             1000000       0          0           0            0  1000000   $1.2500
house,model           500       9          0           0            0      509  ≥$0.5000
total             3000500       9          0           0            0  3000509  ≥$4.2500
the price of 500 tokens is not known: see prices.toml
";
    assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
    let output = home.run(&["stats", "--by", "model", "--csv"]);
    let expected = "\
model,inputTokens,outputTokens,reasoningTokens,cacheReadTokens,cacheWriteTokens,totalTokens,costUsd,unpricedTokens
gpt-5-2025-08-07,2000000,0,0,0,0,2000000,2.5,0
gpt-5,1000000,0,0,0,0,1000000,1.25,0
\"house,model\",500,9,0,0,0,509,0.5,500
";
    assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
}

#[test]
fn ones_own_prices_go_before_the_list_and_a_bad_file_is_named() {
    let home = spent();
    let files = home.json(&["config", "path"])["items"].clone();
    let user = files.as_array().unwrap().iter().find(|file| file["layer"] == "user").unwrap();
    let file = Path::new(user["path"].as_str().unwrap()).with_file_name("prices.toml");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    let prices = "[[price]]\nmodel = \"house,model\"\ninput = 1000\noutput = 1\n\n\
                  [[price]]\nmodel = \"gpt-5\"\nfrom = 2026-01-02\ninput = 10\noutput = 10\n";
    std::fs::write(&file, prices).unwrap();
    let report = home.json(&["stats"]);
    let expected = [("2026-01-01", 1.25), ("2026-01-02", 21.0)];
    assert_eq!(lines(&report), expected.map(|(day, cost)| (day.to_owned(), json!(cost))));
    assert_eq!(report["total"]["unpricedTokens"], 0);
    std::fs::write(&file, "[[price]]\nmodel = \"x\"\ninput = \"free\"\noutput = 1\n").unwrap();
    let text = home.refused(&["stats"], 7);
    let expected = "prices.toml:3: input must be dollars per million tokens, such as 1.25, \
                    not \"free\"";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn a_server_says_the_same() {
    let server = Server::start(spent());
    let elsewhere = Home::new();
    for by in ["day", "model", "repo", "agent", "session"] {
        let local = server.home().json(&["stats", "--by", by]);
        let remote = elsewhere.json(&["stats", "--by", by, "--remote-server", server.url()]);
        assert_ne!(local["groups"], json!([]), "{by}");
        assert_eq!(local, remote, "{by}");
    }
}

#[test]
fn what_cannot_be_asked_is_refused_with_what_can() {
    let home = Home::new();
    let refused = |args: &[&str]| errors(&home.ah(args).output().unwrap());
    assert!(refused(&["stats", "--since", "soon"]).contains("nor a span like 7d"));
    assert!(refused(&["stats", "--by", "colour"]).contains("day, model, repo, agent, session"));
    assert!(refused(&["stats", "--csv", "--json"]).contains("two forms of the same answer"));
    let nothing = home.run(&["stats"]);
    assert!(errors(&nothing).contains("ah import --all"), "{nothing:?}");
}
