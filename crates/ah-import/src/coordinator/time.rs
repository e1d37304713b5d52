//! Times as the Agent Coordinator writes them.

use ah_model::Timestamp;

use crate::foreign_db::Cell;

/// The time that a column says; one without an offset is UTC, as its program takes it.
pub(super) fn read_time(cell: &Cell) -> Option<Timestamp> {
    let text = cell.text()?;
    text.parse().or_else(|_| format!("{text}Z").parse()).ok()
}

/// `time` as the program writes it: UTC with microseconds.
pub(super) fn written(time: Timestamp) -> String {
    let text = time.to_string();
    format!("{}000+00:00", text.strip_suffix('Z').unwrap_or(&text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_with_and_without_an_offset() {
        let text = |text: &str| Cell::Text(text.as_bytes().to_vec());
        let at: Timestamp = "2026-01-06T10:00:00.123Z".parse().unwrap();
        for time in [
            "2026-01-06T10:00:00.123456+00:00",
            "2026-01-06T11:00:00.123+01:00",
            "2026-01-06T10:00:00.123456",
            "2026-01-06T10:00:00.123Z",
        ] {
            assert_eq!(read_time(&text(time)), Some(at), "{time}");
        }
        for none in [text("not a time"), text(""), text("2026-01-06"), Cell::Integer(1), Cell::Null]
        {
            assert_eq!(read_time(&none), None, "{none:?}");
        }
        assert_eq!(written(at), "2026-01-06T10:00:00.123000+00:00");
    }
}
