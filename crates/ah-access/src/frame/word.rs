//! Words on the wire that a reader need not know: what is new to it is `other`.

/// Declares an enum whose variants are sent as the word given with each, and one more for words of
/// newer versions.
macro_rules! open_words {
    (
        $(#[$doc:meta])* $name:ident {
            $($(#[$variant_doc:meta])* $variant:ident = $word:literal),+ $(,)?
        }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        pub enum $name {
            $($(#[$variant_doc])* #[serde(rename = $word)] $variant,)+
            /// A word of a newer version.
            #[serde(rename = "other", other)]
            Other,
        }

        impl $name {
            /// The word that is sent.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                    Self::Other => "other",
                }
            }
        }
    };
}

pub(super) use open_words;
