//! The distribution of Pearson's statistic.

/// How likely a chi-square variable of this many degrees of freedom is larger than `x`: the regularised upper incomplete
/// gamma function Q(k/2, x/2), by its series below the middle and its continued fraction above (Abramowitz and Stegun
/// 6.5.29 and 6.5.31).
pub(super) fn upper_tail(x: f64, freedom: f64) -> f64 {
    let (a, x) = (freedom / 2.0, x / 2.0);
    if x <= 0.0 {
        return 1.0;
    }
    let front = (a * x.ln() - x - ln_gamma(a)).exp();
    if x < a + 1.0 {
        let (mut term, mut sum, mut n) = (1.0 / a, 1.0 / a, a);
        while term > sum * 1e-15 {
            n += 1.0;
            term *= x / n;
            sum += term;
        }
        return (1.0 - front * sum).clamp(0.0, 1.0);
    }
    // Lentz's method.
    let tiny = 1e-300;
    let mut b = x + 1.0 - a;
    let (mut c, mut d) = (1.0 / tiny, 1.0 / b);
    let mut h = d;
    for i in 1..10_000 {
        let i = f64::from(i);
        let an = -i * (i - a);
        b += 2.0;
        d = 1.0 / not_zero(an * d + b, tiny);
        c = not_zero(b + an / c, tiny);
        let delta = d * c;
        h *= delta;
        if (delta - 1.0).abs() < 1e-15 {
            break;
        }
    }
    (front * h).clamp(0.0, 1.0)
}

fn not_zero(value: f64, tiny: f64) -> f64 {
    if value.abs() < tiny { tiny } else { value }
}

/// The logarithm of the gamma function, by Stirling's series after the argument was raised above 10.
fn ln_gamma(mut x: f64) -> f64 {
    let mut below = 0.0;
    while x < 10.0 {
        below += x.ln();
        x += 1.0;
    }
    let inverse = 1.0 / (x * x);
    let series = (1.0 / 12.0 - inverse * (1.0 / 360.0 - inverse * (1.0 / 1260.0 - inverse / 1680.0))) / x;
    (x - 0.5) * x.ln() - x + 0.5 * (2.0 * std::f64::consts::PI).ln() + series - below
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_agrees_with_published_tables() {
        // NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.4: critical values of chi-square.
        for (freedom, x, p) in [
            (1.0, 3.841, 0.05),
            (15.0, 24.996, 0.05),
            (15.0, 37.697, 0.001),
            (10.0, 4.865, 0.90),
            (100.0, 149.449, 0.001),
            (63.0, 82.529, 0.05),
        ] {
            let found = upper_tail(x, freedom);
            assert!((found - p).abs() < 2e-4, "{freedom} {x}: {found}");
        }
        assert_eq!(upper_tail(0.0, 3.0), 1.0);
    }
}
