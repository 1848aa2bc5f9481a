//! The texts of a page of a PDF file in the order in which a reader sees them. A file may draw them in any order, in pieces, and without blanks.
//!
//! Texts on one height are a line, and what is far apart in it are cells, at least two blanks apart. Lines that form a table are written with
//! each cell below those of its column. Columns of prose are read one after the other; where that is not certain, a line stays a line.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use super::pdf_columns::{SeenCell, SeenLine, write_lines};

/// Distances, as shares of the letters' width or size. A greater one than this is a blank.
const WORD: f32 = 0.12;
/// From this one on it parts cells; where a blank is drawn, which full lines widen, and between two digits, in whose figure it may stand, from these.
const CELL: f32 = 0.5;
const CELL_WITH_BLANK: f32 = 1.0;
const CELL_OF_DIGITS: f32 = 0.4;
/// The same as a share of the font's own blank.
const BLANKS_OF_CELL: f32 = 1.5;
/// Texts that lie on each other by more than this are two.
const OVERLAP: f32 = -0.4;
/// How far the next piece of a text may lie to the left.
const KERNING: f32 = -0.3;
/// What is drawn twice this close is a bold letter.
const TWICE: f32 = 0.1;
/// The greatest distance between the letters of a spaced word.
const MOST_SPACED: f32 = 0.5;
/// How much lower a text may stand in its line; and how much higher or lower a smaller one, such as an exponent.
const LOWER: f32 = 0.3;
const RAISED: Range<f32> = -0.35..0.65;
const SMALLER: f32 = 0.85;
/// How many such lines of smaller texts may belong to one line.
const MOST_RAISED: usize = 8;
/// Texts are turned alike within this many degrees.
const TURNED_ALIKE: f32 = 15.0;
/// How many texts a page may have that do not follow each other directly. In memory each takes up to 200 bytes.
const MOST_RUNS: usize = 2_000_000;
/// Beyond this no place is on a page.
const FARTHEST: f64 = 1e6;

/// Where a piece of text stands.
pub(super) struct Stretch {
    /// Where it begins, its first letter, the end of its last letter, and where the next piece would begin.
    pub(super) ends: [(f64, f64); 4],
    /// In which direction it goes. Its length is 1.
    pub(super) along: (f64, f64),
    /// The size of its letters: how high they are, and how wide one is that is as wide as high in its font.
    pub(super) size: f64,
    pub(super) wide: f64,
    /// How wide the blank of its font is, as a share of that.
    pub(super) blank: f64,
}

/// What a page draws, in its order.
#[derive(Default)]
pub(super) struct Drawn {
    letters: String,
    runs: Vec<DrawnRun>,
}

/// Letters that follow each other directly.
struct DrawnRun {
    text: Range<usize>,
    from: Point,
    to: Point,
    /// Where the next letter would stand.
    pen: Point,
    along: Point,
    size: f32,
    wide: f32,
    blank: f32,
    blank_before: bool,
    blanks_behind: usize,
    /// The last piece: where its text and its place begin.
    last: (usize, Point),
}

#[derive(Clone, Copy)]
struct Point(f32, f32);

impl Point {
    fn of((x, y): (f64, f64)) -> Point {
        let within = |value: f64| if value.is_nan() { 0.0 } else { value.clamp(-FARTHEST, FARTHEST) as f32 };
        Point(within(x), within(y))
    }

    /// How far it lies along a direction, and above it.
    fn seen_along(self, Point(x, y): Point) -> (f32, f32) {
        (self.0 * x + self.1 * y, self.1 * x - self.0 * y)
    }

    fn minus(self, other: Point) -> Point {
        Point(self.0 - other.0, self.1 - other.1)
    }
}

/// A run in the direction of its neighbours.
struct Placed<'a> {
    text: &'a str,
    x0: f32,
    x1: f32,
    y: f32,
    run: &'a DrawnRun,
    /// Its number in the order of the page.
    number: usize,
}

impl Drawn {
    /// Adds a piece of text, which has so many blanks before and behind it.
    pub(super) fn add(&mut self, stretch: Stretch, text: &str, before: usize, behind: usize) {
        if self.is_too_much() {
            return;
        }
        let [begin, from, to, pen] = stretch.ends.map(Point::of);
        let is_turned = (stretch.along.0.hypot(stretch.along.1) - 1.0).abs() < 0.01;
        let along = if is_turned { Point::of(stretch.along) } else { Point(1.0, 0.0) };
        let [size, wide] = [stretch.size, stretch.wide].map(|size| if size > 0.0 { size.min(FARTHEST) as f32 } else { 1.0 });
        let last_piece = (self.letters.len(), from);
        if let Some(run) = self.runs.last_mut().filter(|run| run.is_like(along, size)) {
            if !text.is_empty() && self.letters.get(run.last.0..) == Some(text) && is_twice(from, to, run.last.1, along, size) {
                return;
            }
            let (gap, above) = begin.minus(run.pen).seen_along(along);
            if above.abs() <= 0.05 * size && (KERNING * wide..WORD * wide).contains(&gap) {
                run.pen = pen;
                if text.is_empty() {
                    run.blanks_behind += before;
                    return;
                }
                self.letters.extend(std::iter::repeat_n(' ', run.blanks_behind + before));
                (run.last, run.to, run.blanks_behind) = ((self.letters.len(), from), to, behind);
                self.letters.push_str(text);
                run.text.end = self.letters.len();
                return;
            }
        }
        if !text.is_empty() {
            self.letters.push_str(text);
            let text = last_piece.0..self.letters.len();
            let (blank_before, blank) = (before > 0, stretch.blank as f32);
            self.runs.push(DrawnRun {
                text,
                from,
                to,
                pen,
                along,
                size,
                wide,
                blank,
                blank_before,
                blanks_behind: behind,
                last: last_piece,
            });
        }
    }

    /// Whether there is more than can be laid out.
    pub(super) fn is_too_much(&self) -> bool {
        self.runs.len() > MOST_RUNS
    }

    /// The text of the page. Texts that are turned come behind the others.
    pub(super) fn reading_order(&self) -> String {
        let mut groups: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for (number, run) in self.runs.iter().enumerate() {
            let turned = run.along.1.atan2(run.along.0).to_degrees().rem_euclid(360.0) / TURNED_ALIKE;
            groups.entry(turned.round() as u32 % (360.0 / TURNED_ALIKE) as u32).or_default().push(number);
        }
        let mut text = String::new();
        for numbers in groups.into_values() {
            write_lines(&self.lines(numbers), &mut text);
        }
        text
    }

    /// The lines of texts that are turned alike.
    fn lines(&self, numbers: Vec<usize>) -> Vec<SeenLine> {
        let runs = || numbers.iter().filter_map(|number| Some((*number, self.runs.get(*number)?)));
        // A scanned page may lie a little askew.
        let (x, y) = runs().fold((0.0, 0.0), |(x, y), (_, DrawnRun { along, text, .. })| {
            (x + along.0 * text.len() as f32, y + along.1 * text.len() as f32)
        });
        let along = Point(x / x.hypot(y), y / x.hypot(y));
        let mut placed: Vec<Placed<'_>> = runs().map(|(number, run)| self.place(number, run, along)).collect();
        placed.sort_by(|one, other| other.y.total_cmp(&one.y));
        let mut lines: Vec<Vec<Placed<'_>>> = Vec::new();
        for one in placed {
            match lines.last_mut() {
                Some(line) if line.first().is_some_and(|first| first.y - one.y <= LOWER * first.run.size.min(one.run.size)) => {
                    line.push(one)
                }
                _ => lines.push(vec![one]),
            }
        }
        with_raised(lines).into_iter().filter_map(line_of).collect()
    }

    fn place<'a>(&'a self, number: usize, run: &'a DrawnRun, along: Point) -> Placed<'a> {
        let ((from, y), (to, _)) = (run.from.seen_along(along), run.to.seen_along(along));
        let text = self.letters.get(run.text.clone()).unwrap_or_default();
        Placed { text, x0: from.min(to), x1: from.max(to), y, run, number }
    }
}

impl DrawnRun {
    fn is_like(&self, along: Point, size: f32) -> bool {
        self.along.0 * along.0 + self.along.1 * along.1 > 0.999 && (self.size - size).abs() <= 0.05 * size
    }
}

/// Whether a text is drawn at the place of another one, for bold letters.
fn is_twice(from: Point, to: Point, other: Point, along: Point, size: f32) -> bool {
    let ((x, y), (width, _)) = (from.minus(other).seen_along(along), to.minus(from).seen_along(along));
    x.abs() <= (TWICE * size).min(width.abs() / 2.0) && y.abs() <= TWICE * size
}

/// Puts exponents, indices and other smaller texts into the lines at whose height they stand, if nothing else stands at their place.
fn with_raised(lines: Vec<Vec<Placed<'_>>>) -> Vec<Vec<Placed<'_>>> {
    let mut kept: Vec<(Vec<Placed<'_>>, usize)> = Vec::with_capacity(lines.len());
    for line in lines {
        match kept.last_mut() {
            Some((above, raised)) if *raised < MOST_RAISED && belongs(&line, above) => {
                above.extend(line);
                *raised += 1;
            }
            Some((above, raised)) if belongs(above, &line) => {
                let above = std::mem::replace(above, line);
                if let Some((line, _)) = kept.last_mut() {
                    line.extend(above);
                }
            }
            _ => kept.push((line, 0)),
        }
    }
    kept.into_iter().map(|(line, _)| line).collect()
}

fn belongs(small: &[Placed<'_>], line: &[Placed<'_>]) -> bool {
    let greatest = |line: &[Placed<'_>]| line.iter().map(|one| one.run.size).fold(0.0, f32::max);
    let (Some(first), Some(other)) = (small.first(), line.first()) else { return false };
    let size = greatest(line);
    if greatest(small) > SMALLER * size || !RAISED.contains(&((first.y - other.y) / size)) {
        return false;
    }
    let mut ends: Vec<(f32, f32, bool)> = small.iter().map(|one| (one.x0, one.x1, true)).collect();
    ends.extend(line.iter().map(|one| (one.x0, one.x1, false)));
    ends.sort_by(|one, other| one.0.total_cmp(&other.0));
    // The greatest ends so far of the small texts and of the others. They may touch.
    let mut last = [f32::NEG_INFINITY; 2];
    ends.into_iter().all(|(x0, x1, is_small)| {
        let (own, others) = (usize::from(is_small), usize::from(!is_small));
        let is_free = last.get(others).is_some_and(|end| x0 >= end - 0.1 * size);
        if let Some(end) = last.get_mut(own) {
            *end = end.max(x1);
        }
        is_free
    })
}

/// Writes the cells of a line.
fn line_of(mut line: Vec<Placed<'_>>) -> Option<SeenLine> {
    let (y, size) = line.iter().map(|one| (one.y, one.run.size)).max_by(|one, other| one.1.total_cmp(&other.1))?;
    // Letters that are read from right to left keep the order in which they are drawn.
    let is_leftward = line.iter().any(|one| one.text.chars().any(is_leftward));
    let by_place = |one: &Placed<'_>, other: &Placed<'_>| if is_leftward { Ordering::Equal } else { one.x0.total_cmp(&other.x0) };
    line.sort_by(|one, other| by_place(one, other).then(one.number.cmp(&other.number)));
    let mut drawn: HashMap<&str, (f32, f32)> = HashMap::new();
    line.retain(|one| {
        let before = drawn.insert(one.text, (one.x0, one.y));
        before.is_none_or(|(x, y)| !is_twice(Point(one.x0, one.y), Point(one.x1, one.y), Point(x, y), Point(1.0, 0.0), one.run.size))
    });
    let spaced = spaced(&line);
    let mut cells: Vec<SeenCell> = Vec::new();
    let mut before: Option<&Placed<'_>> = None;
    for one in &line {
        let between = before.map_or(Between::Cells, |before| between(before, one, spaced));
        match cells.last_mut() {
            Some(cell) if between != Between::Cells => {
                if between == Between::Words {
                    cell.text.push(' ');
                }
                cell.text.push_str(one.text);
                (cell.x0, cell.x1) = (cell.x0.min(one.x0), cell.x1.max(one.x1));
            }
            _ => cells.push(SeenCell { x0: one.x0, x1: one.x1, text: one.text.to_owned() }),
        }
        before = Some(one);
    }
    Some(SeenLine { y, size, cells })
}

#[derive(Clone, Copy, PartialEq)]
enum Between {
    Nothing,
    Words,
    Cells,
}

/// What lies between two neighbours in a line whose letters stand this far apart.
fn between(one: &Placed<'_>, other: &Placed<'_>, spaced: f32) -> Between {
    let gap = distance(one, other) - spaced;
    let (last, first) = (one.text.chars().next_back(), other.text.chars().next());
    let both = |is: fn(char) -> bool| last.is_some_and(is) && first.is_some_and(is);
    let is_figure = both(|letter| letter.is_numeric());
    let has_blank = one.run.blanks_behind > 0 || other.run.blank_before;
    let blank = one.run.blank.max(other.run.blank) * BLANKS_OF_CELL;
    let cell = match (is_figure, has_blank) {
        (true, _) => CELL_OF_DIGITS,
        (false, true) => CELL_WITH_BLANK,
        (false, false) => CELL,
    };
    if gap >= blank.max(cell) {
        return Between::Cells;
    }
    let lie_on_each_other = gap < OVERLAP && both(char::is_alphanumeric);
    // A figure and the number of its footnote are no longer figure.
    let is_raised = is_figure && (one.y - other.y).abs() > 0.15 * one.run.size.max(other.run.size);
    if has_blank || gap > WORD || lie_on_each_other || is_raised { Between::Words } else { Between::Nothing }
}

/// How far two neighbours are apart, as a share of the size of the smaller one.
fn distance(one: &Placed<'_>, other: &Placed<'_>) -> f32 {
    (other.x0 - one.x1).max(one.x0 - other.x1) / one.run.wide.min(other.run.wide)
}

/// How far the letters of a line stand apart, if they are drawn one by one and spaced.
fn spaced(line: &[Placed<'_>]) -> f32 {
    let single = |one: &Placed<'_>| one.text.chars().count() == 1;
    let pairs = line.array_windows().filter(|[one, other]| single(one) && single(other));
    let mut gaps: Vec<f32> = pairs.map(|[one, other]| distance(one, other)).collect();
    let letters = line.iter().filter(|one| single(one) && one.text.chars().all(char::is_alphabetic)).count();
    gaps.sort_by(f32::total_cmp);
    let Some(middle) = gaps.get(gaps.len() / 2).copied() else { return 0.0 };
    let alike = gaps.iter().filter(|gap| (**gap - middle).abs() <= 0.1).count();
    let is_spaced = gaps.len() >= 4 && letters * 10 >= line.len() * 6 && alike * 10 >= gaps.len() * 7;
    if is_spaced && (WORD..=MOST_SPACED).contains(&middle) { middle } else { 0.0 }
}

/// Whether a letter is one of Hebrew, Arabic or another script that is read from right to left.
fn is_leftward(letter: char) -> bool {
    matches!(letter, '\u{590}'..='\u{8FF}' | '\u{FB1D}'..='\u{FDFF}' | '\u{FE70}'..='\u{FEFF}' | '\u{10800}'..='\u{10FFF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Draws letters that are half as wide as high.
    fn draw(drawn: &mut Drawn, x: f64, y: f64, size: f64, text: &str) {
        let at = |letters: usize| (x + letters as f64 * size / 2.0, y);
        let count = |text: &str| text.chars().count();
        let (before, behind) = (count(text) - count(text.trim_start()), count(text) - count(text.trim_end()));
        let ends = [at(0), at(before), at(count(text) - behind), at(count(text))];
        drawn.add(Stretch { ends, along: (1.0, 0.0), size, wide: size, blank: 0.3 }, text.trim(), before, behind);
    }

    fn read(texts: &[(f64, f64, &str)]) -> String {
        let mut drawn = Drawn::default();
        for (x, y, text) in texts {
            draw(&mut drawn, *x, *y, 10.0, text);
        }
        drawn.reading_order()
    }

    #[test]
    fn lines_come_from_the_top_down_and_texts_from_left_to_right() {
        assert_eq!(
            read(&[(50.0, 20.0, "Page 1"), (78.0, 700.0, "world"), (50.0, 700.0, "Hello"), (50.0, 688.0, "12")]),
            "Hello world\n12\nPage 1\n"
        );
        // Each on its own line: never one figure.
        assert_eq!(read(&[(50.0, 700.0, "12"), (50.0, 688.0, "500")]), "12\n500\n");
    }

    #[test]
    fn pieces_of_a_figure_are_one_and_neighbouring_figures_are_two() {
        assert_eq!(read(&[(50.0, 700.0, "1"), (55.0, 700.0, "2.5"), (70.5, 700.0, "00")]), "12.500\n");
        let glyphs: Vec<(f64, f64, String)> = (0..4).map(|at| (50.0 + 5.0 * f64::from(at), 700.0, at.to_string())).collect();
        assert_eq!(read(&glyphs.iter().map(|(x, y, text)| (*x, *y, text.as_str())).collect::<Vec<_>>()), "0123\n");
        assert_eq!(read(&[(50.0, 700.0, "12"), (65.0, 700.0, "500")]), "12  500\n");
        assert_eq!(read(&[(50.0, 700.0, "12"), (63.0, 700.0, "500")]), "12 500\n");
        // Drawn on each other.
        assert_eq!(read(&[(50.0, 700.0, "12"), (51.5, 700.0, "500")]), "12 500\n");
    }

    #[test]
    fn cells_stand_below_those_of_their_column_also_where_one_is_empty() {
        let rows = [
            (50.0, 700.0, "Day"),
            (100.0, 700.0, "Hours"),
            (150.0, 700.0, "Break"),
            (50.0, 688.0, "Mon"),
            (150.0, 688.0, "1"),
            (100.0, 676.0, "8"),
        ];
        let tail = [(50.0, 664.0, "Wed"), (100.0, 664.0, "7")];
        // At the ends of a table, too.
        let ends = [(100.0, 712.0, "2026"), (150.0, 652.0, "3")];
        let all = read(&[&ends[..], &rows[..], &tail[..]].concat());
        assert_eq!(all, "        2026\nDay     Hours    Break\nMon              1\n        8\nWed     7\n                 3\n");
        assert_eq!(read(&[&rows[..], &tail[..]].concat()), "Day     Hours    Break\nMon              1\n        8\nWed     7\n");
    }

    #[test]
    fn columns_of_prose_are_read_one_after_the_other_and_those_of_a_table_are_not() {
        let words = ["the contract begins with", "the first day of the month", "and ends after two years"];
        let mut columns = vec![(50.0, 740.0, "A title that goes over both of the columns of the page")];
        columns.extend(
            words
                .iter()
                .zip(0..)
                .flat_map(|(text, line)| [(50.0, 700.0 - 12.0 * f64::from(line), *text), (250.0, 700.0 - 12.0 * f64::from(line), *text)]),
        );
        let prose = words.join("\n");
        assert_eq!(read(&columns), format!("{}\n{prose}\n{prose}\n", columns[0].2));
        // Not on one height.
        let apart: Vec<_> = columns.iter().map(|(x, y, text)| (*x, if *x > 200.0 { y - 5.0 } else { *y }, *text)).collect();
        assert_eq!(read(&apart), read(&columns));
        // Neither figures beside prose nor two columns of sentences are columns of prose.
        for cells in [
            ["12 hours", "13 hours", "14 hours"],
            ["The second of the answers", "Another one is given here", "Nobody knows about this one"],
        ] {
            let table: Vec<_> = columns
                .iter()
                .skip(1)
                .enumerate()
                .map(|(at, (x, y, text))| (*x, *y, if at % 2 == 1 { cells[at / 2] } else { text }))
                .collect();
            let lines: Vec<String> = read(&table).lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
            assert_eq!(lines, words.iter().zip(cells).map(|(text, cell)| format!("{text} {cell}")).collect::<Vec<_>>());
        }
    }

    #[test]
    fn exponents_and_indices_stay_in_their_line() {
        let mut drawn = Drawn::default();
        for (x, y, size, text) in [(50.0, 700.0, 10.0, "10 m"), (70.0, 704.0, 6.0, "2"), (80.0, 700.0, 10.0, "CO"), (90.0, 698.0, 6.0, "2")]
        {
            draw(&mut drawn, x, y, size, text);
        }
        draw(&mut drawn, 50.0, 688.0, 10.0, "12.500");
        draw(&mut drawn, 80.0, 692.0, 6.0, "1");
        // The number of a footnote is no figure of its own amount.
        assert_eq!(drawn.reading_order(), "10 m2  CO2\n12.500 1\n");
    }

    #[test]
    fn what_is_drawn_twice_for_bold_letters_is_one_text() {
        assert_eq!(read(&[(50.0, 700.0, "Total 11"), (50.4, 700.0, "Total 11")]), "Total 11\n");
        let glyphs =
            [(50.0, 700.0, "1"), (50.3, 700.0, "1"), (55.0, 700.0, "1"), (55.3, 700.0, "1"), (60.0, 700.0, "5"), (60.3, 700.0, "5")];
        assert_eq!(read(&glyphs), "115\n");
    }

    #[test]
    fn spaced_letters_are_words() {
        let spaced = |text: &'static str, by: f64| {
            let texts = text.split("").filter(|letter| !letter.is_empty()).zip(0..);
            read(
                &texts
                    .filter(|(letter, _)| *letter != " ")
                    .map(|(letter, at)| (50.0 + by * f64::from(at), 700.0, letter))
                    .collect::<Vec<_>>(),
            )
        };
        assert_eq!(spaced("INVOICE OF MAY", 7.0), "INVOICE OF MAY\n".replace(' ', "  "));
        // Figures are not.
        assert_eq!(spaced("12345678", 7.0), "1 2 3 4 5 6 7 8\n");
    }

    #[test]
    fn turned_texts_come_last_and_letters_that_go_left_keep_their_order() {
        let mut drawn = Drawn::default();
        let turned =
            Stretch { ends: [(0.0, 0.0), (0.0, 0.0), (50.0, 50.0), (50.0, 50.0)], along: (0.6, 0.8), size: 60.0, wide: 60.0, blank: 0.3 };
        drawn.add(turned, "DRAFT", 0, 0);
        draw(&mut drawn, 50.0, 700.0, 10.0, "12");
        draw(&mut drawn, 90.0, 600.0, 10.0, "\u{5D0}");
        draw(&mut drawn, 80.0, 600.0, 10.0, "\u{5D1}");
        assert_eq!(drawn.reading_order(), "12\n\u{5D0}  \u{5D1}\nDRAFT\n");
    }

    #[test]
    fn impossible_places_lose_no_text_and_many_texts_take_no_quadratic_time() {
        let mut drawn = Drawn::default();
        for (number, place) in [f64::NAN, f64::INFINITY, 1e300].into_iter().enumerate() {
            let ends = [(place, place); 4];
            drawn.add(Stretch { ends, along: (place, 0.0), size: place, wide: place, blank: place }, &format!("text{number}"), 0, 0);
        }
        let text = drawn.reading_order();
        assert!((0..3).all(|number| text.contains(&format!("text{number}"))), "{text}");
        // On one height, in one place, in one column, and all over the page.
        for place in [
            |at: u32| (f64::from(at) * 9.0, 0.0),
            |_| (0.0, 0.0),
            |at| (0.0, f64::from(at) * 0.01),
            |at| (f64::from(at % 97) * 7.0, f64::from(at % 89)),
        ] {
            let mut drawn = Drawn::default();
            for at in 0..50_000 {
                let (x, y) = place(at);
                draw(&mut drawn, x, y, 1.0 + f64::from(at % 7), if at % 2 == 0 { "12" } else { "ab" });
            }
            assert!(!drawn.reading_order().is_empty());
        }
    }
}
