//! The embedded store: every call, every moment, every byte.

use super::{Mode, Outcome, Setting, outcome};
use crate::disk::{cuts, flips, images, inject};

pub(super) fn calls(setting: &Setting) -> Outcome {
    if !images::available() {
        return Outcome::NotRun("no strace".into());
    }
    let stride = setting.mode.of(19, 3, 1);
    match inject::run(&setting.program, 500, stride, setting.threads) {
        Ok(done) => {
            let measured = format!(
                "{} runs with a killed or failed call, {} kinds",
                done.points, done.kinds
            );
            outcome(done.failure, done.points > 0, measured)
        }
        Err(why) => Outcome::NotRun(why),
    }
}

pub(super) fn cut_count(mode: Mode) -> u64 {
    mode.of(20, 1_000, 20_000)
}

pub(super) fn power_cuts(setting: &Setting) -> Outcome {
    if let Err(why) = cuts::available() {
        return Outcome::NotRun(format!("no file system of our own: {why}"));
    }
    let cuts = cut_count(setting.mode);
    match cuts::run_cuts(&setting.program, 1, cuts) {
        Ok(done) => {
            let measured = format!(
                "{} cuts, {} of them under work, {} times full, {} times read-only",
                done.cuts, done.working, done.full, done.read_only
            );
            outcome(
                done.failure,
                done.working > 0 && done.full > 0 && done.read_only > 0,
                measured,
            )
        }
        Err(why) => Outcome::NotRun(why),
    }
}

pub(super) fn image_count(mode: Mode) -> u64 {
    mode.of(2_000, 50_000, 2_000_000)
}

pub(super) fn crash_images(setting: &Setting) -> Outcome {
    if !images::available() {
        return Outcome::NotRun("no strace".into());
    }
    let wanted = image_count(setting.mode);
    let plan = images::Plan {
        program: &setting.program,
        seed: 1,
        images: wanted,
        threads: setting.threads,
    };
    match images::run(&plan) {
        Ok(done) => {
            let measured = format!(
                "{} images at {} points, {} of them of a recovery that was cut off too",
                done.opened, done.points, done.twice
            );
            outcome(done.failure, done.opened >= wanted && done.twice > 0, measured)
        }
        Err(why) => Outcome::NotRun(why),
    }
}

pub(super) fn damage(setting: &Setting) -> Outcome {
    match flips::run(&setting.program, 1, setting.threads) {
        Ok(done) => {
            let measured = format!(
                "{} bytes changed, {} found at opening, {} mixtures",
                done.bytes, done.detected, done.mixed
            );
            outcome(done.failure, done.detected > 0 && done.mixed > 0, measured)
        }
        Err(why) => Outcome::NotRun(why),
    }
}
