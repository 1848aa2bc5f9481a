//! Bounds on time, tokens and money, and who set them.

use std::time::Duration;

use super::Policy;
use crate::source::Span;

/// What the policies of who runs it are called.
pub const USER_POLICY: &str = "user";

/// Bounds of a run, or of the part they stand in. `None`: no bound (`max_parallel`: 8).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Limits {
    /// Time for the whole of it; time with a person does not count.
    pub deadline: Option<Duration>,
    /// Most calls to the outside at once.
    pub max_parallel: Option<u64>,
    /// Most tokens, in and out.
    pub max_tokens: Option<u64>,
    /// Most money, in US dollars.
    pub max_cost_usd: Option<f64>,
    /// Most step runs in total.
    pub max_steps: Option<u64>,
    /// Where the section stands.
    pub span: Option<Span>,
    /// The policies that set some of them.
    pub set_by: LimitPolicies,
}

/// For bounds that a policy may set, its name; `None`: somebody else set it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LimitPolicies {
    /// Of `deadline`: `resource_limits.time`.
    pub time: Option<String>,
    /// Of `max_tokens`: `resource_limits.tokens`.
    pub tokens: Option<String>,
    /// Of `max_cost_usd`: `resource_limits.cost_usd`.
    pub cost_usd: Option<String>,
}

/// A bound, and the policy that set it.
type SetBound<T> = (Option<T>, Option<String>);

impl Limits {
    /// Of each bound the smaller one.
    pub fn within(&self, other: &Limits) -> Limits {
        let (a, b) = (&self.set_by, &other.set_by);
        let (deadline, time) = least((self.deadline, a.time.clone()), (other.deadline, b.time.clone()));
        let (max_tokens, tokens) = least((self.max_tokens, a.tokens.clone()), (other.max_tokens, b.tokens.clone()));
        let (max_cost_usd, cost_usd) = least((self.max_cost_usd, a.cost_usd.clone()), (other.max_cost_usd, b.cost_usd.clone()));
        Limits {
            deadline,
            max_parallel: least((self.max_parallel, None), (other.max_parallel, None)).0,
            max_tokens,
            max_cost_usd,
            max_steps: least((self.max_steps, None), (other.max_steps, None)).0,
            span: self.span,
            set_by: LimitPolicies { time, tokens, cost_usd },
        }
    }
}

/// The smaller one; of two that are equal, the one with a name.
fn least<T: PartialOrd>(a: SetBound<T>, b: SetBound<T>) -> SetBound<T> {
    let is_second = match (&a.0, &b.0) {
        (Some(first), Some(second)) => second < first || second == first && a.1.is_none(),
        (None, second) => second.is_some(),
        (Some(_), None) => false,
    };
    if is_second { b } else { a }
}

impl Policy {
    /// The bounds that it sets under this name.
    pub fn bounds(&self, name: &str) -> Limits {
        let set_by = |is_set: bool| is_set.then(|| name.to_owned());
        Limits {
            deadline: self.max_time,
            max_cost_usd: self.max_cost_usd,
            max_tokens: self.max_tokens,
            set_by: LimitPolicies {
                time: set_by(self.max_time.is_some()),
                tokens: set_by(self.max_tokens.is_some()),
                cost_usd: set_by(self.max_cost_usd.is_some()),
            },
            ..Limits::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smaller_bound_counts_and_keeps_who_set_it() {
        let policy = Policy { max_tokens: Some(50), max_cost_usd: Some(2.0), max_time: Some(Duration::from_secs(3)), ..Policy::default() };
        let own = Limits { max_tokens: Some(100), max_cost_usd: Some(1.0), max_steps: Some(7), ..Limits::default() };
        let both = own.within(&policy.bounds("q"));
        assert_eq!((both.max_tokens, both.max_cost_usd, both.max_steps), (Some(50), Some(1.0), Some(7)));
        let set_by = LimitPolicies { time: Some("q".into()), tokens: Some("q".into()), cost_usd: None };
        assert_eq!(both.set_by, set_by);
        assert_eq!(
            Limits { max_tokens: Some(50), ..Limits::default() }.within(&both).set_by,
            set_by,
            "an equal bound without a name is no reason"
        );
        assert_eq!(both.within(&Limits { max_tokens: Some(49), ..Limits::default() }).set_by.tokens, None);
    }
}
