use super::*;

fn spent_by(json: &str) -> (SpendingKey, SpendingSum) {
    let data = RawJson::parse("data", json, 10_000).unwrap();
    let at = "2026-01-31T23:59:59.999Z".parse().unwrap();
    let mut sums = SpendingSums::default();
    sums.add_event(&data, Usage::of_event(&data), at);
    sums.with_model("of the session").0.into_iter().next().unwrap()
}

fn spending(day: &str, model: &str, input_tokens: u64) -> Spending {
    Spending {
        session_id: "s".parse().unwrap(),
        repo_id: 1,
        agent: "codex".to_owned(),
        day: day.parse().unwrap(),
        model: model.to_owned(),
        usage: Usage { input_tokens, ..Usage::default() },
        told: None,
    }
}

#[test]
fn a_day_is_that_of_utc_and_nothing_else_is_one() {
    let late: Timestamp = "2026-02-01T00:30:00+01:00".parse().unwrap();
    assert_eq!(Day::of(late).as_str(), "2026-01-31");
    assert_eq!("2024-02-29".parse::<Day>().unwrap().to_string(), "2024-02-29");
    for bad in ["", "2026-1-1", "2026-02-29", "2026-01-01T00:00:00Z", "today", "20260101"] {
        assert!(bad.parse::<Day>().is_err(), "{bad}");
    }
}

#[test]
fn amounts_are_read_digit_by_digit() {
    for (text, nanos) in [
        ("0", Some(0)),
        ("0.1", Some(100_000_000)),
        ("12.345678901", Some(12_345_678_901)),
        ("1.5e-05", Some(15_000)),
        ("2E+1", Some(20_000_000_000)),
        ("0.00000000149", Some(1)),
        ("0.0000000005", Some(1)),
        ("1e-400", Some(0)),
        ("0e400", Some(0)),
        ("1e400", Some(COST_MAX)),
        ("-1", None),
        ("", None),
        (".5", None),
        ("null", None),
        ("\"1\"", None),
        ("1e99999999999", None),
    ] {
        assert_eq!(Cost::parse_usd(text).map(Cost::nanos), nanos, "{text}");
    }
}

#[test]
fn an_event_says_its_day_its_model_and_what_it_cost() {
    let (key, sum) = spent_by(r#"{"usage":{"inputTokens":3},"model":"m","costUsd":0.25}"#);
    assert_eq!((key.day.as_str(), key.told, key.model.as_str()), ("2026-01-31", true, "m"));
    let usage = Usage { input_tokens: 3, ..Usage::default() };
    assert_eq!(sum, (usage, Cost::from_nanos(250_000_000)));
    let long = "x".repeat(LABEL_BYTES_MAX + 1);
    for (json, model) in [
        (r#"{"tokens":{"model":"sized","size":{"input":3}}}"#, "sized"),
        (r#"{"usage":{"inputTokens":3}}"#, "of the session"),
        (r#"{"usage":{"inputTokens":3},"model":""}"#, "of the session"),
        (r#"{"usage":{"inputTokens":3},"model":"a\u0000"}"#, "of the session"),
        (r#"{"usage":{"inputTokens":3},"model":{"id":"m"},"costUsd":-1}"#, "of the session"),
        (&format!(r#"{{"usage":{{"inputTokens":3}},"model":"{long}"}}"#), "of the session"),
    ] {
        let (key, sum) = spent_by(json);
        assert_eq!((key.told, key.model.as_str()), (false, model), "{json}");
        assert_eq!(sum, (usage, Cost::default()), "{json}");
    }
}

#[test]
fn a_cursor_leads_back_to_its_place_and_others_are_refused() {
    let mut one = spending("2026-01-31", "a model with spaces", 1);
    one.told = Some(Cost::default());
    let key = SpendingKey { day: one.day.clone(), told: true, model: one.model.clone() };
    assert_eq!(Spending::after(&one.cursor()), Ok((one.session_id.clone(), key)));
    for bad in ["", "s", "s 2026-01-31 0", "s 2026-01-31 2 m", "s today 0 m", "s 2026-01-31 0 \0"] {
        assert!(Spending::after(&Cursor::Text(bad.to_owned())).is_err(), "{bad:?}");
    }
    assert!(Spending::after(&Cursor::Number(1)).is_err());
}

#[test]
fn a_filter_takes_both_days_it_names() {
    let filter = SpendingFilter {
        since: Some("2026-01-02".parse().unwrap()),
        until: Some("2026-01-03".parse().unwrap()),
        ..SpendingFilter::default()
    };
    let days = ["2026-01-01", "2026-01-02", "2026-01-03", "2026-01-04"];
    let passed = days.map(|day| filter.matches(&spending(day, "m", 1)));
    assert_eq!(passed, [false, true, true, false]);
}

#[test]
fn groups_add_up_to_the_total_and_unknown_prices_are_counted_apart() {
    let prices = Prices::listed();
    let mut told = spending("2026-01-02", "nobody's", 5);
    told.told = Some(Cost::from_nanos(7));
    let all = [
        spending("2026-01-02", "gpt-5", 1_000_000),
        spending("2026-01-01", "gpt-5", 1),
        spending("2026-01-02", "nobody's", 100),
        told,
    ];
    let fold = |by| {
        let mut fold = SpendingFold::new(by, &prices);
        all.iter().for_each(|spending| fold.add(spending));
        (fold.total(), fold.groups())
    };
    let (total, days) = fold(SpendingBy::Day);
    assert_eq!(total.cost, Cost::from_nanos(1_250_000_000 + 1_250 + 7));
    assert_eq!((total.usage.input_tokens, total.unpriced), (1_000_106, 100));
    let names: Vec<_> = days.iter().map(|(day, _)| day.as_str()).collect();
    assert_eq!(names, ["2026-01-01", "2026-01-02"]);
    let (_, models) = fold(SpendingBy::Model);
    let costs: Vec<_> = models.iter().map(|(model, spent)| (model.as_str(), spent.cost)).collect();
    let gpt = Cost::from_nanos(1_250_001_250);
    assert_eq!(costs, [("gpt-5", gpt), ("nobody's", Cost::from_nanos(7))]);
}
