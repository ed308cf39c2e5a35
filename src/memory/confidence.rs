//! The confidence in a memory: the mean of a Beta distribution, whose prior counts as some observations and
//! to which each type of signal adds its weighted counts.

use crate::record::{EXPLICIT_SIGNALS, Object, SignalType, USES};
use std::collections::BTreeMap;

/// The prior of a memory: a share of `strength` observations.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PriorRule {
    /// The number of observations that the prior counts as.
    pub strength: f64,
    /// Whether a memory's own prior is ignored, and alpha and beta begin at 1.
    pub uniform: bool,
}

/// The sums of the signals about a memory.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Evidence {
    /// The number of positive and of negative signals of each type, in the order of `SignalType::ALL`.
    pub counts: [[i64; 2]; 3],
    /// The number of uses.
    pub uses: i64,
}

impl Evidence {
    /// Reads the sums of a memory.
    pub fn from_sums(sums: &BTreeMap<String, i64>) -> Evidence {
        let sum = |counter: &str| sums.get(counter).copied().unwrap_or_default();
        Evidence {
            counts: SignalType::ALL.map(|signal_type| signal_type.counters().map(sum)),
            uses: sum(USES),
        }
    }
}

/// The weights of the types of signals in a partition; they add up to 1.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Weights {
    /// In the order of `SignalType::ALL`.
    pub of: [f64; 3],
    /// The number of explicit signals from which they are learnt.
    pub explicit_signals: i64,
}

impl Weights {
    /// The weights as an object; they are those of a partition.
    pub fn to_object(&self, partition: &str) -> Object {
        let mut object = Object::default();
        object.set_text("partition", partition);
        for (signal_type, weight) in SignalType::ALL.into_iter().zip(self.of) {
            object.set(signal_type.name(), weight.to_string());
        }
        object.set("explicit_signals", self.explicit_signals.to_string());
        object
    }

    /// Reads the sums of a partition: explicit signals that agreed with the predictions of a type count for
    /// it, others against it. Explicit signals themselves begin at 7 for and 3 against, the others at 5 and
    /// 5.
    pub fn from_sums(sums: &BTreeMap<String, i64>) -> Weights {
        let sum = |counter: &str| sums.get(counter).copied().unwrap_or_default() as f64;
        let raw = SignalType::ALL.map(|signal_type| {
            let [agrees, disagrees] = signal_type.agreement_counters();
            let (mut a, mut b) = (5.0, 5.0);
            if signal_type == SignalType::Explicit {
                (a, b) = (7.0, 3.0);
            } else {
                a += sum(agrees);
                b += sum(disagrees);
            }
            a / (a + b)
        });
        let total: f64 = raw.iter().sum();
        let explicit_signals = sums.get(EXPLICIT_SIGNALS).copied().unwrap_or_default();
        Weights { of: raw.map(|raw| raw / total), explicit_signals }
    }
}

/// The Beta distribution of the confidence in a memory.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Beta {
    /// The weighted observations for it, and against it.
    pub alpha: f64,
    pub beta: f64,
}

impl Beta {
    /// The distribution for a memory with this prior, 0 to 1.
    pub fn new(prior: f64, rule: PriorRule, weights: &Weights, evidence: &Evidence) -> Beta {
        let (mut alpha, mut beta) =
            if rule.uniform { (1.0, 1.0) } else { (prior * rule.strength, (1.0 - prior) * rule.strength) };
        for (weight, [positive, negative]) in weights.of.iter().zip(evidence.counts) {
            alpha += weight * positive as f64;
            beta += weight * negative as f64;
        }
        Beta { alpha, beta }
    }

    /// The mean, 0 to 1; `None` without any observation.
    pub fn mean(self) -> Option<f64> {
        let observations = self.alpha + self.beta;
        (observations > 0.0).then(|| self.alpha / observations)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNIFORM: PriorRule = PriorRule { strength: 4.0, uniform: true };
    const GIVEN: PriorRule = PriorRule { strength: 4.0, uniform: false };

    fn after(prior: f64, rule: PriorRule, signals: &[(SignalType, bool)]) -> f64 {
        let mut evidence = Evidence::default();
        for (signal_type, positive) in signals {
            let at = SignalType::ALL.iter().position(|known| known == signal_type).unwrap();
            evidence.counts[at][usize::from(!positive)] += 1;
        }
        Beta::new(prior, rule, &Weights::from_sums(&BTreeMap::new()), &evidence).mean().unwrap()
    }

    #[test]
    fn confidence_follows_the_formula() {
        use SignalType::{Explicit, Outcome, Usage};
        for (rule, prior, signals, wanted) in [
            (UNIFORM, 0.8, &[][..], 0.5),
            (UNIFORM, 0.8, &[(Explicit, true)], 0.585_365_853_658_536_6),
            (UNIFORM, 0.8, &[(Explicit, true), (Usage, true)], 0.630_434_782_608_695_7),
            (UNIFORM, 0.8, &[(Outcome, true)], 0.564_102_564_102_564_1),
            (UNIFORM, 0.8, &[(Explicit, true), (Explicit, false)], 0.5),
            (GIVEN, 0.8, &[], 0.8),
            (GIVEN, 0.8, &[(Explicit, true)], 0.818_666_666_666_666_7),
            (GIVEN, 0.8, &[(Explicit, false)], 0.725_333_333_333_333_3),
            (GIVEN, 0.8, &[(Outcome, false)], 0.745_205_479_452_054_8),
        ] {
            let found = after(prior, rule, signals);
            assert!((found - wanted).abs() < 1e-6, "{signals:?}: {found}, not {wanted}");
        }
    }
}
