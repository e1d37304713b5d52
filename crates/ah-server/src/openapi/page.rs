//! The page that shows the description: one file, which loads nothing but the description.

use sha2::{Digest, Sha256};

pub(super) const PAGE: &str = include_str!("page.html");

/// What the page may do: run its own script, wear its own style, and ask this server.
pub(super) fn policy() -> String {
    let (script, style) = (digest(inside("script")), digest(inside("style")));
    format!(
        "default-src 'none'; script-src 'sha256-{script}'; style-src 'sha256-{style}'; \
         connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
}

/// The text of the page's one element of that name.
fn inside(element: &str) -> &'static str {
    let (opening, closing) = (format!("<{element}>"), format!("</{element}>"));
    let inner = PAGE.split_once(&opening).and_then(|(_, rest)| rest.split_once(&closing));
    inner.map_or("", |(inner, _)| inner)
}

fn digest(text: &str) -> String {
    base64(&Sha256::digest(text.as_bytes()))
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let bits = chunk.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte));
        let bits = bits << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let digit = usize::try_from(bits >> (18 - 6 * place) & 63).unwrap_or(0);
            text.push(if place <= chunk.len() { char::from(DIGITS[digit]) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_as_everybody_has_it() {
        for (text, encoded) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foobar", "Zm9vYmFy")] {
            assert_eq!(base64(text.as_bytes()), encoded);
        }
    }

    #[test]
    fn the_page_has_one_script_and_one_style_and_loads_nothing_else() {
        for element in ["script", "style"] {
            assert!(inside(element).len() > 100);
            assert_eq!(PAGE.matches(&format!("<{element}")).count(), 1);
        }
        for loading in ["src=", "url(", "@import", "http://", "https://", "<link", "onclick"] {
            assert!(!PAGE.contains(loading), "{loading}");
        }
    }
}
