//! Snowflakes at the system's time, and what a generator and a layout tell about themselves.

use std::sync::Arc;
use std::time::Duration;

use mintage::*;

fn layout(text: &str) -> Arc<Layout> {
    let known = preset(text).map(Preset::layout);
    Arc::new(known.unwrap_or_else(|| text.parse().unwrap()))
}

#[test]
fn ids_of_now_have_the_systems_time_in_the_layouts_own_ticks() {
    // Whole milliseconds, several of them, and ticks that are no milliseconds at all.
    for text in [
        "twitter",
        "sonyflake",
        "time=40,worker=3,sequence=8;tick=1s",
        "time=52,worker=4,sequence=8;tick=250us",
        "time=50,sequence=14;tick=1ms;epoch=-1",
    ] {
        let layout = layout(text);
        let generator = Snowflake::unguarded(layout.clone(), 0).unwrap();
        let id = generator.mint_now().unwrap();
        let told = layout.time_of(layout.unpack(id).unwrap().tick);
        let now = SystemClock.now();
        // Far more than any clock differs from itself, far less than a wrong unit would give.
        let off = if told > now {
            told.since(now)
        } else {
            now.since(told)
        };
        assert!(off < Duration::from_secs(3600), "{text}: {off:?}");
    }
}

#[test]
fn one_by_one_and_in_batches_ids_of_now_are_one_rising_row() {
    let generator = Snowflake::unguarded(layout("twitter"), 7).unwrap();
    let mut ids: Vec<u64> = generator.ids_now().take(50).map(Result::unwrap).collect();
    let mut batch = [0; 5000];
    assert_eq!(generator.mint_many_now(&mut batch), Ok(5000));
    ids.extend_from_slice(&batch);
    ids.push(generator.mint_now().unwrap());
    mintage_testing::rising("ids", &ids);
    assert!(
        ids.iter()
            .all(|id| generator.layout().unpack(*id).unwrap().worker == 7)
    );
    generator.close();
    assert_eq!(generator.ids_now().next(), Some(Err(MintError::Closed)));
    assert_eq!(generator.mint_many_now(&mut batch), Err(MintError::Closed));
}

#[test]
fn a_clock_before_the_epoch_mints_nothing() {
    let future = layout("time=41,worker=10,sequence=12;epoch=9999-01-01");
    let generator = Snowflake::unguarded(future, 0).unwrap();
    assert_eq!(generator.mint_now(), Err(MintError::BeforeEpoch));
    assert_eq!(generator.mint_many_now(&mut [0; 3]), Err(MintError::BeforeEpoch));
}

#[test]
fn a_generator_tells_its_worker_and_where_it_stands() {
    let window = Window {
        worker: 3,
        from_tick: 100,
        until_tick: 200,
    };
    for (text, policy) in [
        ("twitter", ClockPolicy::Hold),
        ("twitter", ClockPolicy::Error),
        ("rollback2", ClockPolicy::Bump),
    ] {
        let layout = layout(text);
        let generator = Snowflake::new(layout.clone(), window, 2)
            .unwrap()
            .clock_policy(policy)
            .unwrap();
        assert_eq!((generator.worker(), generator.until_tick()), (3, 200));
        assert_eq!(generator.reached_tick(), 100, "nothing minted yet");
        generator.mint(layout.time_of(150)).unwrap();
        assert_eq!(generator.reached_tick(), 150);
        generator.extend(300);
        assert_eq!((generator.until_tick(), generator.reached_tick()), (300, 150));
        assert_eq!(
            format!("{generator:?}"),
            format!("Snowflake {{ layout: {text:?}, worker: 3, until_tick: 300, .. }}")
        );
        generator.close();
        assert_eq!(generator.reached_tick(), 300, "closed: the end");
    }
}

#[test]
fn a_tick_whose_rollback_field_counts_is_still_the_tick() {
    let layout = layout("rollback2");
    let generator = Snowflake::unguarded(layout.clone(), 0).unwrap();
    let generator = generator.clock_policy(ClockPolicy::Bump).unwrap();
    generator.mint(layout.time_of(1_000_000)).unwrap();
    generator.mint(layout.time_of(500)).unwrap();
    assert_eq!(generator.reached_tick(), 500);
}

#[test]
fn layouts_with_one_fingerprint_make_the_same_ids() {
    let fingerprint = |text: &str| layout(text).fingerprint();
    assert_eq!(
        fingerprint("twitter"),
        "t41.w10.s12/1000000ns/1288834974657000000"
    );
    assert_eq!(
        fingerprint("time:a=41,worker:b=5,worker:c=5,sequence:d=12;epoch=1288834974657"),
        fingerprint("twitter"),
        "names and the parts of the worker do not matter"
    );
    assert_eq!(
        fingerprint("rollback2"),
        "t41.r2.w8.s12/1000000ns/1577836800000000000"
    );
    assert_eq!(
        fingerprint("constant:tag=3@5,time=40,sequence=8;tick=250us"),
        "c3=5.t40.s8/250000ns/0"
    );
}

#[test]
fn a_layout_tells_its_widths_and_how_long_it_lasts() {
    let twitter = layout("twitter");
    assert_eq!(
        (
            twitter.time_bits(),
            twitter.worker_bits(),
            twitter.sequence_bits(),
            twitter.workers()
        ),
        (41, 10, 12, 1024)
    );
    let at = |millis| twitter.check_at(Timestamp::from_unix_millis(millis));
    assert_eq!(at(1_800_000_000_000), Ok(None), "decades are left");
    let end = 1_288_834_974_657 + (1 << 41);
    assert_eq!(at(end - 1000), Ok(Some(Duration::from_secs(1))));
    assert!(matches!(at(end), Err(LayoutError::PastEnd { .. })));
}

#[test]
fn the_next_place_begins_where_the_layout_begins_its_ticks() {
    let yitter = layout("yitter"); // a tick begins at 5
    let bits = yitter.sequence_bits();
    let (begin, end) = (7 << bits | 5, 8 << bits);
    assert_eq!(yitter.next_place(0, 7), (begin, end - begin));
    assert_eq!(yitter.next_place(begin + 4, 7), (begin + 4, end - begin - 4));
    // A full tick goes on in the next one, again from 5.
    assert_eq!(yitter.next_place(end, 7).0, end | 5);
}

#[test]
fn a_layouts_text_takes_dates_and_odd_ticks_and_reads_back() {
    let layout = layout("time=40,worker=3,sequence=8;tick=1234567ns;epoch=2020-01-01;name=odd");
    assert_eq!(layout.tick(), Duration::from_nanos(1_234_567));
    assert_eq!(layout.epoch().unix_millis(), 1_577_836_800_000);
    assert!(layout.spec().contains("tick=1234567ns"), "{}", layout.spec());
    assert_eq!(layout.spec().parse(), Ok((*layout).clone()));
}
