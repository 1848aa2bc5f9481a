//! What operators do with values of known types: sums and comparisons.

use minijinja::machinery::ast::CompareOpKind;

use super::super::days::{WEEKDAYS, days_meant, help_for_day};
use super::super::number::Arithmetic;
use super::super::tree::Expr;
use super::super::types::Type;
use super::bounds::{mirrored, sign};
use super::words::{described, display, joining, literal, shown_path};
use super::{TypeProblemKind, TypingWalk, WantedType};
use crate::diagnostic::{Near, akin, did_you_mean, quoted};

impl TypingWalk<'_> {
    /// `a == "x" or "y"`: a text or a number beside `and` or `or` is no comparison.
    pub(super) fn alone(&mut self, side: &Expr, whole: &Expr) -> bool {
        let (Expr::Constant(value), Expr::And(left, _) | Expr::Or(left, _)) = (side, whole) else { return false };
        if value.as_str().is_none() && !value.is_number() {
            return false;
        }
        let word = joining(whole);
        let mut compared = &**left;
        while let Expr::And(_, last) | Expr::Or(_, last) = compared {
            compared = last;
        }
        let shown = literal(value);
        let help = match compared {
            Expr::Compare(first, rest) if rest.len() == 1 && shown_path(first).is_some() => {
                let (path, sign) =
                    (shown_path(first).unwrap_or_default(), if matches!(rest[0].0, CompareOpKind::Ne) { "!=" } else { "==" });
                format!("write {word} {path} {sign} {shown}")
            }
            _ => format!("compare something with it, as in: {word} name == {shown}"),
        };
        self.push(side, TypeProblemKind::Mismatch(format!("{shown} after \"{word}\" is compared with nothing"), help));
        true
    }

    pub(super) fn calculation(&mut self, operator: Arithmetic, left: &Expr, right: &Expr) -> Type {
        let (one, other) = (self.expression(left), self.expression(right));
        let is_number = Type::is_number;
        if one.is_open() || other.is_open() {
            let known = if one.is_open() { &other } else { &one };
            let sums = matches!(operator, Arithmetic::Add | Arithmetic::Multiply);
            let fits = match known {
                Type::List(_) => sums,
                kind => kind.is_text() && operator == Arithmetic::Add,
            };
            if known.is_open() || is_number(known) || fits {
                return if sums { Type::Any } else { Type::Number };
            }
        }
        match operator {
            _ if is_number(&one) && is_number(&other) => return Type::Number,
            Arithmetic::Add if one.is_text() && other.is_text() => return Type::Text,
            Arithmetic::Add => {
                if let (Type::List(one), Type::List(other)) = (&one, &other) {
                    return Type::list((**one).clone().same((**other).clone()));
                }
            }
            Arithmetic::Multiply => {
                let repeats = |one: &Type, other: &Type| is_number(other) && matches!(one, Type::List(_));
                if repeats(&one, &other) || repeats(&other, &one) {
                    return if is_number(&one) { other } else { one };
                }
            }
            Arithmetic::Subtract | Arithmetic::Divide | Arithmetic::FloorDivide | Arithmetic::Remainder | Arithmetic::Power => {}
        }
        let about = if is_number(&one) || one.is_open() { right } else { left };
        let sign = operator.sign();
        let message = format!("\"{sign}\" cannot join {} ({}) and {} ({})", display(left), one.words(), display(right), other.words());
        let help = match operator {
            Arithmetic::Add if one.is_text() || other.is_text() => {
                // In double quotes it would end a text of YAML that stands in them.
                let part = |expression: &Expr| display(expression).replace('"', "'");
                format!(
                    "write {} ~ {} for a text, and ~ for every other + of it; or make the text a number with | float",
                    part(left),
                    part(right)
                )
            }
            _ if one.is_text() || other.is_text() => format!("turn the text into a number: ({} | float)", display(about)),
            _ => "name two numbers".to_owned(),
        };
        self.push_for(one.is_text() || other.is_text(), about, TypeProblemKind::Mismatch(message, help));
        Type::Any
    }

    pub(super) fn compare(&mut self, comparison: CompareOpKind, left: &(&Expr, Type), right: &(&Expr, Type)) {
        let ((one, kind), (other, wanted)) = (left, right);
        // Where the values are known, what they are says more.
        if !matches!(kind, Type::OneOf(_)) && !matches!(wanted, Type::OneOf(_)) {
            self.letters(comparison, one, other);
        }
        let about = if one.names().is_some() || other.names().is_none() { one } else { other };
        if kind.is_open() || wanted.is_open() {
            return;
        }
        if matches!(comparison, CompareOpKind::In | CompareOpKind::NotIn) {
            match wanted {
                Type::Number | Type::Within(_) | Type::Boolean => {
                    self.mismatch(other, "\"in\" takes a list, a text or an object", wanted, WantedType::Other);
                }
                Type::List(element) if !element.is_open() && !kind.fits(element) => {
                    let message = format!("{} is looked for in a list whose elements are {}", described(one, kind), element.words());
                    self.push(about, never_equal(message, "look for a value of that type"));
                }
                Type::List(element) => match other {
                    Expr::List(items) => items.iter().for_each(|item| {
                        self.among(one, kind, item, None);
                        self.within(one, kind, CompareOpKind::Eq, item);
                    }),
                    _ => self.among(other, element, one, None),
                },
                Type::Text | Type::OneOf(_) | Type::Date if !kind.is_text() => {
                    let message = format!("{} is looked for in {}", described(one, kind), described(other, wanted));
                    self.push(about, never_equal(message, "a text can only hold a text: write the value in quotes"));
                }
                Type::Text | Type::OneOf(_) | Type::Date | Type::Object(_) | Type::Any | Type::Empty => {}
            }
            return;
        }
        if kind.fits(wanted) {
            self.no_date(comparison, one, kind, other);
            self.no_date(comparison, other, wanted, one);
            if matches!(comparison, CompareOpKind::Eq | CompareOpKind::Ne) {
                self.among(one, kind, other, Some(comparison));
                self.among(other, wanted, one, Some(comparison));
            }
            self.within(one, kind, comparison, other);
            self.within(other, wanted, mirrored(comparison), one);
            return;
        }
        let message = format!("this compares {} with {}", described(one, kind), described(other, wanted));
        let field = |object: &Type, value: &Expr, path: &Expr| {
            let (Type::Object(object), Some(path)) = (object, shown_path(path)) else { return None };
            let word = match value {
                Expr::Constant(value) => value.as_str(),
                _ => None,
            };
            let takes =
                |kind: &Type| word.is_some_and(|word| matches!(kind, Type::OneOf(words) if words.iter().any(|known| known == word)));
            let fields = &object.fields;
            let name = fields.iter().find(|(_, member)| takes(&member.kind)).map(|(name, _)| name);
            let name = name.or_else(|| fields.get_key_value("name").map(|(name, _)| name));
            let name = name.or_else(|| fields.iter().find(|(_, member)| member.kind.is_text()).map(|(name, _)| name))?;
            Some(format!("compare one of its fields, as in: {path}.{name} == {}", display(value)))
        };
        if let Some(help) = field(kind, other, one).or_else(|| field(wanted, one, other)) {
            self.push(about, never_equal(message, &help));
            return;
        }
        let (help, takes_number) = one_type(comparison, left, right);
        self.push_for(takes_number, about, never_equal(message, &help));
    }

    /// A date that is compared with a text which is none.
    fn no_date(&mut self, comparison: CompareOpKind, side: &Expr, kind: &Type, other: &Expr) {
        let (Type::Date, Expr::Constant(value)) = (kind, other) else { return };
        let Some(value) = value.as_str().filter(|value| !value.is_empty()) else { return };
        // The beginning of a date orders as the date does: "2026-03".
        let begins_with_year = value.bytes().take_while(u8::is_ascii_digit).count() == 4;
        let is_other_form = || matches!(days_meant(value)[..], [day] if day.to_string() != value);
        if !begins_with_year || is_other_form() {
            let message = format!("{} is a date such as 2026-11-18, which is compared with {}", display(side), quoted(value));
            let is_equal = matches!(comparison, CompareOpKind::Eq | CompareOpKind::Ne);
            let day = WEEKDAYS.iter().find(|day| day.eq_ignore_ascii_case(value)).filter(|_| is_equal);
            let help = match day {
                Some(day) => {
                    format!("write ({} | date(\"%A\")) {} {} for the day of the week", display(side), sign(comparison), quoted(day))
                }
                None => help_for_day(value, '"').unwrap_or_else(|| "write the date as 2026-11-18: year, month, day".to_owned()),
            };
            self.push(side, never_equal(message, &help));
        }
    }

    /// A text that is compared with a value which is none of those it can have.
    /// `comparison`: how, `None` where it is one of a list.
    fn among(&mut self, side: &Expr, kind: &Type, other: &Expr, comparison: Option<CompareOpKind>) {
        let (Type::OneOf(values), Expr::Constant(value)) = (kind, other) else { return };
        let Some(value) = value.as_str().filter(|value| !value.is_empty() && !values.iter().any(|known| known == value)) else { return };
        let near = did_you_mean(value, values.iter().map(String::as_str));
        let how = if matches!(comparison, Some(CompareOpKind::Ne)) { "is always another text than" } else { "is never" };
        let message = format!("{} {how} {}{near}", display(side), quoted(value));
        let word = near.names.first().map(String::as_str).or_else(|| akin(value, values.iter().map(String::as_str)));
        let help = match (word, comparison) {
            (Some(word), Some(comparison)) if shown_path(side).is_some() => {
                format!("write {} {} {}", display(side), sign(comparison), quoted(word))
            }
            (Some(word), _) => format!("write {} in place of {}", quoted(word), quoted(value)),
            (None, _) => {
                let known: Vec<&str> = values.iter().map(String::as_str).filter(|value| !value.is_empty()).collect();
                format!("use one of: {}", known.join(", "))
            }
        };
        let about = if side.names().is_some() { side } else { other };
        self.push(about, TypeProblemKind::Comparison(message, help, near));
    }
}

/// How two values of different types are compared, and whether with a number.
fn one_type(comparison: CompareOpKind, left: &(&Expr, Type), right: &(&Expr, Type)) -> (String, bool) {
    let sign = sign(comparison);
    let number = |side: &Expr| match side {
        Expr::Constant(value) => value.as_str().filter(|text| text.trim().parse::<f64>().is_ok()).map(str::to_owned),
        _ => None,
    };
    let word = |side: &Expr| match side {
        Expr::Constant(value) => value.as_str().map(str::to_lowercase),
        _ => None,
    };
    let as_number = |(side, kind): &(&Expr, Type)| match number(side) {
        Some(number) => number,
        None if kind.is_text() => format!("({} | float)", display(side)),
        None => display(side),
    };
    match (left, right) {
        ((_, one), (_, other)) if one.is_number() && other.is_text() || one.is_text() && other.is_number() => {
            (format!("write {} {sign} {}, which compares numbers", as_number(left), as_number(right)), true)
        }
        ((side, Type::Boolean), (text, _)) | ((text, _), (side, Type::Boolean)) if word(text).is_some() && shown_path(side).is_some() => {
            let is_no = matches!(word(text).as_deref(), Some("false" | "no" | "n" | "off" | "0"));
            let not = if is_no == (sign == "!=") { "" } else { "not " };
            let gone = if std::ptr::eq(*side, left.0) { format!("{sign} {}", display(text)) } else { format!("{} {sign}", display(text)) };
            (format!("write {not}{}, and remove {gone}: it is true or false itself", display(side)), false)
        }
        ((_, Type::Boolean), _) | (_, (_, Type::Boolean)) => ("compare with true or false, without quotes".to_owned(), false),
        _ => ("compare values of one type".to_owned(), false),
    }
}

fn never_equal(message: String, help: &str) -> TypeProblemKind {
    TypeProblemKind::Comparison(message, help.to_owned(), Near::default())
}
