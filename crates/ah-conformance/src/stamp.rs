//! How a list of behaviours becomes tests.

/// Stamps the tests of a list; [`conformance!`] has the list.
#[doc(hidden)]
#[macro_export]
macro_rules! stamp {
    ($make:path; $($noun:ident { $($behaviour:ident,)+ })+) => {
        fn fresh_harness() -> impl $crate::Harness {
            $make()
        }

        $(mod $noun {
            $(#[test]
            fn $behaviour() {
                let mut harness = super::fresh_harness();
                $crate::block_on($crate::$noun::$behaviour(&mut harness));
            })+
        })+
    };
}
