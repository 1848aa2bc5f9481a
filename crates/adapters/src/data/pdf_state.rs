//! Where the texts of a page of a PDF file stand: what its operators set (ISO 32000-1, 8.3, 8.4 and 9.3 to 9.4).

use lopdf::{Dictionary, Object};

use super::pdf_font::Font;
use super::pdf_layout::{Drawn, Stretch};

/// How many states may be kept at the same time.
const MOST_KEPT: usize = 512;
/// What is added to the distance between letters, and to that between words, parts cells if it is more than this share of the letters' size.
const WIDE_LETTERS: f64 = 0.4;
const WIDE_WORDS: f64 = 0.7;

/// A change of coordinates: (x, y) becomes (a x + c y + e, b x + d y + f).
#[derive(Clone, Copy)]
pub(super) struct Matrix([f64; 6]);

impl Matrix {
    pub(super) const IDENTITY: Matrix = Matrix([1.0, 0.0, 0.0, 1.0, 0.0, 0.0]);

    /// The one that six numbers are.
    pub(super) fn of(numbers: &[Object]) -> Option<Matrix> {
        let mut values = [0.0; 6];
        for (value, number) in values.iter_mut().zip(numbers.get(..6)?) {
            *value = f64::from(number.as_float().ok()?);
        }
        Some(Matrix(values))
    }

    /// The one of a page that is shown turned by so many degrees.
    pub(super) fn turned(degrees: i64) -> Matrix {
        match degrees.rem_euclid(360) {
            90 => Matrix([0.0, -1.0, 1.0, 0.0, 0.0, 0.0]),
            180 => Matrix([-1.0, 0.0, 0.0, -1.0, 0.0, 0.0]),
            270 => Matrix([0.0, 1.0, -1.0, 0.0, 0.0, 0.0]),
            _ => Matrix::IDENTITY,
        }
    }

    /// First this one, then the other.
    pub(super) fn then(self, other: Matrix) -> Matrix {
        let [a, b, c, d, e, f] = self.0;
        let ((a, b), (c, d), (e, f)) = (other.vector(a, b), other.vector(c, d), other.point(e, f));
        Matrix([a, b, c, d, e, f])
    }

    fn point(self, x: f64, y: f64) -> (f64, f64) {
        let ((x, y), [.., e, f]) = (self.vector(x, y), self.0);
        (x + e, y + f)
    }

    fn vector(self, x: f64, y: f64) -> (f64, f64) {
        let [a, b, c, d, ..] = self.0;
        (a * x + c * y, b * x + d * y)
    }
}

/// What holds for a text, and for a form from its surroundings.
#[derive(Clone, Copy)]
pub(super) struct State {
    pub(super) place: Matrix,
    pub(super) font: Option<*const Dictionary>,
    size: f64,
    letter_space: f64,
    word_space: f64,
    stretch: f64,
    leading: f64,
    rise: f64,
}

impl State {
    /// The state at the start of a page.
    pub(super) fn at(place: Matrix) -> State {
        let (size, letter_space, word_space, stretch, leading, rise) = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0);
        State { place, font: None, size, letter_space, word_space, stretch, leading, rise }
    }
}

/// The states of a content: the current one and those that come back, and where its next text begins.
pub(super) struct States {
    pub(super) current: State,
    kept: Vec<State>,
    /// How many more were to be kept.
    beyond: usize,
    line: Matrix,
    text: Matrix,
}

impl States {
    /// The states of a content that begins with this one.
    pub(super) fn new(current: State) -> States {
        States { current, kept: vec![], beyond: 0, line: Matrix::IDENTITY, text: Matrix::IDENTITY }
    }

    /// Does what an operator says, if it changes the state.
    pub(super) fn set(&mut self, operator: &str, operands: &[Object]) {
        let number = |at: usize| operands.get(at).and_then(|object| object.as_float().ok()).map_or(0.0, f64::from);
        let state = &mut self.current;
        match operator {
            "q" if self.kept.len() < MOST_KEPT => self.kept.push(*state),
            "q" => self.beyond += 1,
            "Q" if self.beyond > 0 => self.beyond -= 1,
            "Q" => *state = self.kept.pop().unwrap_or(*state),
            "cm" => state.place = Matrix::of(operands).map_or(state.place, |matrix| matrix.then(state.place)),
            "BT" => self.begin(Matrix::IDENTITY),
            "Tf" => state.size = number(1),
            "Tc" => state.letter_space = number(0),
            "Tw" => state.word_space = number(0),
            "Tz" => state.stretch = number(0) / 100.0,
            "TL" => state.leading = number(0),
            "Ts" => state.rise = number(0),
            "Tm" => self.begin(Matrix::of(operands).unwrap_or(self.line)),
            "Td" => self.move_line(number(0), number(1)),
            "TD" => {
                state.leading = -number(1);
                self.move_line(number(0), number(1));
            }
            "T*" | "'" => self.move_line(0.0, -self.current.leading),
            "\"" => {
                (state.word_space, state.letter_space) = (number(0), number(1));
                self.move_line(0.0, -self.current.leading);
            }
            _ => {}
        }
    }

    fn begin(&mut self, place: Matrix) {
        (self.line, self.text) = (place, place);
    }

    fn move_line(&mut self, x: f64, y: f64) {
        self.begin(Matrix([1.0, 0.0, 0.0, 1.0, x, y]).then(self.line));
    }

    fn advance(&mut self, by: f64, is_vertical: bool) {
        let (x, y) = if is_vertical { (0.0, by) } else { (by, 0.0) };
        self.text = Matrix([1.0, 0.0, 0.0, 1.0, x, y]).then(self.text);
    }

    /// Writes the texts of an operator, and moves by the numbers between them.
    pub(super) fn write(&mut self, font: &Font, operands: &[Object], drawn: &mut Drawn) {
        for operand in operands {
            match operand {
                Object::String(bytes, _) => self.write_text(font, bytes, drawn),
                Object::Array(parts) => self.write(font, parts, drawn),
                Object::Integer(_) | Object::Real(_) => {
                    let stretch = if font.is_vertical { 1.0 } else { self.current.stretch };
                    let shift = f64::from(operand.as_float().unwrap_or_default());
                    self.advance(-shift / 1000.0 * self.current.size * stretch, font.is_vertical);
                }
                _ => {}
            }
        }
    }

    fn write_text(&mut self, font: &Font, bytes: &[u8], drawn: &mut Drawn) {
        let state = self.current;
        let has_wide_words = state.word_space > WIDE_WORDS * state.size.abs() && font.letters.bytes_of_code() == 1 && bytes.contains(&b' ');
        if state.letter_space > WIDE_LETTERS * state.size.abs() || has_wide_words {
            // The letters may be those of several cells.
            bytes.chunks(font.letters.bytes_of_code()).for_each(|code| self.write_piece(font, code, drawn, true));
        } else {
            self.write_piece(font, bytes, drawn, false);
        }
    }

    fn write_piece(&mut self, font: &Font, bytes: &[u8], drawn: &mut Drawn, is_alone: bool) {
        let state = self.current;
        let text = font.letters.text(bytes);
        let letters = text.trim();
        let blanks = |blanks: &str| blanks.chars().count();
        let (before, behind) = (blanks(&text) - blanks(text.trim_start()), blanks(&text) - blanks(text.trim_end()));
        // The end of the letters has no distance behind it.
        let (mut end, mut start, mut end_of_letters) = (0.0, 0.0, 0.0);
        let codes = bytes.len().div_ceil(font.letters.bytes_of_code());
        for (at, (width, is_blank)) in font.widths(bytes).enumerate() {
            let width = if font.is_vertical { -1000.0 } else { width };
            let own = width / 1000.0 * state.size;
            let space = state.letter_space + if is_blank { state.word_space } else { 0.0 };
            let stretch = if font.is_vertical { 1.0 } else { state.stretch };
            if at == before {
                start = end;
            }
            if at + behind < codes {
                end_of_letters = end + own * stretch;
            }
            end += if font.is_vertical { own - space } else { (own + space) * stretch };
        }
        let pen = if is_alone { end_of_letters } else { end };
        if !is_alone || !letters.is_empty() {
            drawn.add(self.stretch(font, [0.0, start, end_of_letters, pen]), letters, before, behind);
        }
        self.advance(end, font.is_vertical);
    }

    /// Where a text stands on the page, of which these are the distances of its ends from the current place.
    fn stretch(&self, font: &Font, ends: [f64; 4]) -> Stretch {
        let state = self.current;
        let (matrix, is_vertical) = (self.text.then(state.place), font.is_vertical);
        let at = |distance: f64| if is_vertical { matrix.point(0.0, distance) } else { matrix.point(distance, state.rise) };
        let [a, b, c, d, ..] = matrix.0;
        let (along, area) = (if is_vertical { (-c, -d) } else { (a, b) }, (a * d - b * c).abs());
        let turned = if is_vertical { state.size } else { state.size * state.stretch };
        let length = along.0.hypot(along.1).copysign(turned);
        let along = (along.0 / length, along.1 / length);
        let (size, wide) = (state.size.abs() * area / length.abs(), length.abs() * turned.abs());
        Stretch { ends: ends.map(at), along, size: size * font.scale, wide: wide * font.scale, blank: font.blank() / 1000.0 / font.scale }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(one: (f64, f64), other: (f64, f64)) -> bool {
        (one.0 - other.0).abs() < 1e-9 && (one.1 - other.1).abs() < 1e-9
    }

    #[test]
    fn changes_of_coordinates_follow_each_other() {
        let scaled = Matrix([2.0, 0.0, 0.0, -2.0, 10.0, 100.0]);
        let moved = Matrix([1.0, 0.0, 0.0, 1.0, 3.0, 4.0]);
        assert!(near(moved.then(scaled).point(0.0, 0.0), (16.0, 92.0)));
        assert!(near(scaled.then(moved).point(0.0, 0.0), (13.0, 104.0)));
        // A page that is turned by 90 degrees: what goes up its sheet is read from left to right.
        assert!(near(Matrix::turned(90).vector(0.0, 1.0), (1.0, 0.0)));
        assert!(near(Matrix::turned(-90).vector(0.0, -1.0), (1.0, 0.0)));
    }

    #[test]
    fn states_come_back_and_are_bounded() {
        let mut states = States::new(State::at(Matrix::IDENTITY));
        for _ in 0..MOST_KEPT + 5 {
            states.set("q", &[]);
        }
        states.set("Tf", &["F".into(), 7.into()]);
        for _ in 0..MOST_KEPT + 4 {
            states.set("Q", &[]);
        }
        assert_eq!((states.kept.len(), states.current.size), (1, 1.0));
    }
}
