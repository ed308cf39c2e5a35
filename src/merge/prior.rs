//! The confidence in a consolidated memory before any signal.

/// The number of sources that earns the whole bonus, and the bonus.
const FULL_BONUS_SOURCES: f64 = 10.0;
const MAX_BONUS: f64 = 0.1;
/// The standard deviation of confidences that earns none.
const MAX_DEVIATION: f64 = 0.5;

/// The prior of sources, each with its confidence (0 to 1) and its number of uses: the mean of the
/// confidences, weighted by uses, and a bonus for many sources that agree.
pub fn consolidated_prior(sources: &[(f64, u64)]) -> f64 {
    let count = sources.len().max(1) as f64;
    let weight = |uses: u64| uses as f64 + 1.0;
    let weights: f64 = sources.iter().map(|(_, uses)| weight(*uses)).sum();
    let base =
        sources.iter().map(|(confidence, uses)| confidence * weight(*uses)).sum::<f64>() / weights.max(1.0);
    let mean = sources.iter().map(|(confidence, _)| confidence).sum::<f64>() / count;
    let variance = sources.iter().map(|(confidence, _)| (confidence - mean).powi(2)).sum::<f64>() / count;
    let agreement = 1.0 - (variance.sqrt() / MAX_DEVIATION).min(1.0);
    (base + agreement * (count / FULL_BONUS_SOURCES).min(1.0) * MAX_BONUS).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prior_follows_the_formula() {
        for (sources, wanted) in [
            (&[(0.6, 0), (0.6, 0)][..], 0.62),
            (&[(0.6, 0); 10], 0.7),
            (&[(0.6, 0); 20], 0.7),
            (&[(1.0, 0), (0.0, 0)], 0.5),
            // Uses weigh: (0.9 * 4 + 0.5) / 5, and 0.02 less 40 % of it.
            (&[(0.9, 3), (0.5, 0)], 0.832),
            (&[(1.0, 0), (1.0, 0)], 1.0),
        ] {
            let found = consolidated_prior(sources);
            assert!((found - wanted).abs() < 1e-9, "{sources:?}: {found}, not {wanted}");
        }
    }
}
