//! Parents before their children, whatever the file says of them.

use std::collections::HashMap;

use crate::foreign_db::Cell;

/// A session to take.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Place {
    /// Its id as the file has it.
    pub(super) id: Cell,
    /// What it is known by.
    pub(super) name: String,
    /// Its row; nothing when only others name it.
    pub(super) rowid: Option<i64>,
    pub(super) parent: Parent,
}

/// What is known of a session's parent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Parent {
    None,
    /// The session of that name.
    Named(String),
    /// It would be its own ancestor.
    Circle(String),
}

impl Parent {
    fn name(&self) -> Option<&str> {
        match self {
            Self::Named(name) => Some(name),
            Self::None | Self::Circle(_) => None,
        }
    }
}

/// `places` in their order, except that a parent comes before its children. Where parents go round
/// in a circle, the first of them has none.
pub(super) fn parents_first(mut places: Vec<Place>) -> Vec<Place> {
    let mut at = HashMap::with_capacity(places.len());
    for (number, place) in places.iter().enumerate() {
        at.entry(place.name.clone()).or_insert(number);
    }
    let mut order = Vec::with_capacity(places.len());
    let mut seen = vec![Seen::No; places.len()];
    for first in 0..places.len() {
        let (mut chain, mut next) = (Vec::new(), Some(first));
        while let Some(number) = next.filter(|number| seen[*number] == Seen::No) {
            seen[number] = Seen::InChain;
            chain.push(number);
            next = places[number].parent.name().and_then(|name| at.get(name).copied());
        }
        if let (Some(last), Some(number)) = (chain.last(), next)
            && seen[number] == Seen::InChain
        {
            let name = places[number].name.clone();
            places[*last].parent = Parent::Circle(name);
        }
        for number in chain.into_iter().rev() {
            seen[number] = Seen::Ordered;
            order.push(number);
        }
    }
    order.into_iter().map(|number| places[number].clone()).collect()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seen {
    No,
    InChain,
    Ordered,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(name: &str, parent: &str) -> Place {
        let parent = match parent {
            "" => Parent::None,
            name => Parent::Named(name.to_owned()),
        };
        let id = Cell::Text(name.as_bytes().to_vec());
        Place { id, name: name.to_owned(), rowid: Some(1), parent }
    }

    fn ordered(given: &[(&str, &str)]) -> Vec<String> {
        let given = given.iter().map(|(name, parent)| place(name, parent)).collect();
        let shown = |place: Place| match place.parent {
            Parent::None => place.name,
            Parent::Named(parent) => format!("{}<{parent}", place.name),
            Parent::Circle(parent) => format!("{}!{parent}", place.name),
        };
        parents_first(given).into_iter().map(shown).collect()
    }

    #[test]
    fn a_parent_comes_before_its_children_and_all_else_stays_in_order() {
        let given = [("d", "c"), ("a", ""), ("c", "b"), ("b", ""), ("e", "gone"), ("f", "c")];
        assert_eq!(ordered(&given), ["b", "c<b", "d<c", "a", "e<gone", "f<c"]);
    }

    #[test]
    fn a_circle_of_parents_is_cut_once() {
        assert_eq!(ordered(&[("a", "a")]), ["a!a"]);
        let given = [("a", "b"), ("b", "c"), ("c", "b"), ("d", "a")];
        assert_eq!(ordered(&given), ["c!b", "b<c", "a<b", "d<a"]);
    }
}
