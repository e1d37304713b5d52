//! Times as Hyperhive wrote them at one time or another: a number since 1970, or text.

use ah_model::Timestamp;

use crate::foreign_db::Cell;

/// The time of a value. A number is in seconds, unless it is so large that it must be in a smaller
/// unit; text without an offset is UTC.
pub(super) fn read_time(cell: &Cell) -> Option<Timestamp> {
    match cell {
        Cell::Integer(number) => Some(of_number(*number)),
        Cell::Real(number) => of_float(*number),
        Cell::Text(_) => of_text(cell.text()?.trim()),
        Cell::Null | Cell::Blob(_) => None,
    }
}

/// From these on a number is in milliseconds, microseconds, nanoseconds: the year 5138 in seconds,
/// 1973 in each smaller unit.
const MILLIS: u64 = 100_000_000_000;
const MICROS: u64 = MILLIS * 1_000;
const NANOS: u64 = MICROS * 1_000;

fn of_number(number: i64) -> Timestamp {
    Timestamp::from_unix_ms(match number.unsigned_abs() {
        0..MILLIS => number.saturating_mul(1_000),
        MILLIS..MICROS => number,
        MICROS..NANOS => number / 1_000,
        NANOS.. => number / 1_000_000,
    })
}

fn of_float(number: f64) -> Option<Timestamp> {
    if !number.is_finite() {
        return None;
    }
    Some(match number.abs() < MILLIS as f64 {
        true => Timestamp::from_unix_ms((number * 1_000.0) as i64),
        false => of_number(number as i64),
    })
}

fn of_text(text: &str) -> Option<Timestamp> {
    if let Ok(number) = text.parse() {
        return Some(of_number(number));
    }
    let time = text.parse().or_else(|_| format!("{text}Z").parse());
    time.ok().or_else(|| of_float(text.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_numbers_of_any_unit_and_as_text() {
        let text = |text: &str| Cell::Text(text.as_bytes().to_vec());
        let at: Timestamp = "2026-05-01T10:00:00.500Z".parse().unwrap();
        let ms = at.unix_ms();
        for time in [
            Cell::Integer(ms),
            Cell::Integer(ms * 1_000),
            Cell::Integer(ms * 1_000_000),
            Cell::Real(ms as f64 / 1_000.0),
            Cell::Real(ms as f64),
            text("2026-05-01T12:00:00.5+02:00"),
            text("2026-05-01 10:00:00.500"),
            text(&ms.to_string()),
            text(&format!(" {}.5 ", ms / 1_000)),
        ] {
            assert_eq!(read_time(&time), Some(at), "{time:?}");
        }
        let whole = Timestamp::from_unix_ms(ms - 500);
        assert_eq!(read_time(&Cell::Integer(ms / 1_000)), Some(whole));
        let blob = Cell::Blob(b"1".to_vec());
        for none in [Cell::Null, Cell::Real(f64::NAN), text("soon"), text(""), text("nan"), blob] {
            assert_eq!(read_time(&none), None, "{none:?}");
        }
    }
}
