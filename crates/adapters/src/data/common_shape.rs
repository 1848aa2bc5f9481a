//! Whether the texts of a column are all of one shape, so that they order as they are meant.

use crate::model::PlainMoment;

/// What all texts of a column have in common.
#[derive(Debug, Default)]
pub(super) struct CommonShape {
    /// With `x` in place of each letter and digit; `None`: there is no text yet.
    shape: Option<String>,
    is_one: bool,
    /// How days and times of ISO 8601 are written there; `None`: one of them is none, or in another form.
    moment: Option<MomentShape>,
}

/// Days and times that order as texts do have one length and one offset.
#[derive(Debug, Clone, PartialEq)]
struct MomentShape {
    length: usize,
    separator: Option<u8>,
    offset: String,
}

impl CommonShape {
    /// Takes one more text into account.
    pub(super) fn see(&mut self, text: &str) {
        let shape: String = text.chars().map(|c| if c.is_alphanumeric() { 'x' } else { c }).collect();
        let moment = moment_shape(text);
        match &self.shape {
            None => (self.shape, self.is_one, self.moment) = (Some(shape), true, moment),
            Some(known) => {
                self.is_one &= *known == shape;
                if self.moment != moment {
                    self.moment = None;
                }
            }
        }
    }

    /// Whether all are days or times of ISO 8601 in one form.
    pub(super) fn is_moment(&self) -> bool {
        self.moment.is_some()
    }

    /// Whether the order of the texts is the one that is meant: days and times of one form, clocks, and codes of one shape.
    pub(super) fn is_ordered(&self) -> bool {
        let Some(shape) = self.shape.as_deref().filter(|_| self.is_one) else { return false };
        // In a code there is no blank, and no three parts as in 18.11.2026.
        let is_code = !shape.contains([' ', ':', '/', ',']) && !matches!(shape, "xx.xx.xxxx" | "xx-xx-xxxx" | "xx.xx.xx" | "xx-xx-xx");
        self.is_moment() || matches!(shape, "xx:xx" | "xx:xx:xx") || is_code
    }
}

fn moment_shape(text: &str) -> Option<MomentShape> {
    let is_full = text.as_bytes().get(4) == Some(&b'-') && text.as_bytes().get(7) == Some(&b'-') && text.len() != 11;
    PlainMoment::parse(text).filter(|_| is_full)?;
    let zone = text.get(10..).and_then(|clock| clock.find(['Z', 'z', '+', '-']).and_then(|at| clock.get(at..)));
    Some(MomentShape { length: text.len(), separator: text.as_bytes().get(10).copied(), offset: zone.unwrap_or_default().to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_ordered(texts: &[&str]) -> bool {
        let mut shape = CommonShape::default();
        texts.iter().for_each(|text| shape.see(text));
        shape.is_ordered()
    }

    #[test]
    fn only_texts_of_one_shape_order_as_they_are_meant() {
        for texts in [
            ["2026-11-18", "2026-12-03"],
            ["2026-11-18T09:30:00Z", "2026-12-03T10:30:00Z"],
            ["2026-11-18 09:30", "2026-12-03 10:30"],
            ["2026-11", "2026-12"],
            ["2026-W47", "2026-W48"],
            ["09:30", "10:15"],
            ["A-001", "A-010"],
            ["0049", "1067"],
        ] {
            assert!(is_ordered(&texts), "{texts:?}");
        }
        for texts in [
            ["18.11.2026", "03.12.2026"],
            ["18/11/2026", "03/12/2026"],
            ["18-11-2026", "03-12-2026"],
            ["18.11.26", "03.12.26"],
            ["3 Dec 2026", "4 Nov 2026"],
            ["2026-12-3", "2026-11-18"],
            ["2026-11-18", "18.11.2026"],
            ["09:30 AM", "01:15 PM"],
            ["2026-11-18T09:30:00+05:00", "2026-11-18T09:30:00-08:00"],
            ["2026-11-18T09:30:00Z", "2026-11-18 10:30:00Z"],
            ["9", "10"],
            ["A1", "A10"],
        ] {
            assert!(!is_ordered(&texts), "{texts:?}");
        }
    }
}
