//! Delayed keys in a hierarchical timing wheel: constant time to add and remove, whatever the number.

use super::slots::{Due, Slots};
use crate::Mono;

/// A tick is 2^20 ns, about a millisecond: finer than the timers of any runtime, and a shift instead of a division.
const TICK_BITS: u32 = 20;
/// Places on a level, as a power of two. With 64 of them a timer of minutes would come down once more.
const PLACE_BITS: u32 = 8;
const PLACES: usize = 1 << PLACE_BITS;
/// Enough for all ticks there are: 64 - 20 bits, eight at a time. So no delay is too long.
const LEVELS: usize = (u64::BITS - TICK_BITS).div_ceil(PLACE_BITS) as usize;

/// Timers that a place keeps memory for when it is emptied: a quarter of a kilobyte, at most 400 KB for the whole
/// wheel.
const KEPT_TIMERS: usize = 16;
/// Timers that are not worth a clean-up.
const FEW: usize = 1024;

/// One delay of one key. It is dead once the key has another appointment, or none.
#[derive(Clone, Copy)]
struct Timer {
    due_ns: u64,
    slot: u32,
    ticket: u32,
}

/// Keys by the time they are due, exact to the nanosecond.
///
/// A timer lies on the level of the highest group of bits in which its tick differs from `elapsed`, at the place that
/// group says. Level 0 therefore holds what is due next, each place one tick; a timer comes down a level when the
/// wheel reaches its place. Timers of the same nanosecond keep the order in which they were added: they are always at
/// the same place.
///
/// Places are arrays, not lists through the slots: a timer comes down one or two levels, and that many jumps to a
/// random slot would cost ten times as much as copying 16 bytes. The price is that a cancelled timer stays where it
/// is, dead, until its time comes or there are more dead ones than living.
#[derive(Clone)]
#[repr(C)]
pub(super) struct Wheel {
    /// Living timers, which is delayed keys.
    len: usize,
    /// Nothing is due before this.
    next: Mono,
    dead: usize,
    ticket: u32,
    /// The tick that the wheel has reached.
    elapsed: u64,
    occupied: [Places; LEVELS],
    /// By level, then place. Empty until the first delay.
    places: Vec<Vec<Timer>>,
    /// Empty between calls.
    fired: Vec<Timer>,
}

impl Wheel {
    pub(super) fn new() -> Self {
        Self {
            places: Vec::new(),
            occupied: [Places::NONE; LEVELS],
            elapsed: 0,
            len: 0,
            dead: 0,
            ticket: 0,
            next: Mono(u64::MAX),
            fired: Vec::new(),
        }
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// When to look again; never later than the first key is due.
    #[inline]
    pub(super) fn next_wake(&self) -> Option<Mono> {
        (self.len > 0).then_some(self.next)
    }

    /// Delays a key until `due`, which is after `now`.
    pub(super) fn insert<K>(&mut self, slots: &mut Slots<K>, slot: u32, due: Mono, now: Mono) {
        if self.len == 0 {
            self.begin(now);
        }
        self.next = self.next.min(due);
        self.ticket = self.ticket.wrapping_add(1);
        slots[slot].due = Due::Later;
        slots[slot].order = due.0;
        slots[slot].ticket = self.ticket;
        self.place(Timer { due_ns: due.0, slot, ticket: self.ticket });
        self.len += 1;
    }

    /// Cancels a key's delay.
    pub(super) fn remove<K>(&mut self, slots: &mut Slots<K>, slot: u32) {
        slots[slot].due = Due::Never;
        self.len -= 1;
        self.dead += 1;
        if self.dead > FEW && self.dead > self.len {
            self.bury(slots);
        }
    }

    /// Ends the delay of all that is due at `now`, and appends it to `due` in order.
    #[inline]
    pub(super) fn advance<K>(&mut self, now: Mono, slots: &mut Slots<K>, due: &mut Vec<u32>) {
        if self.len > 0 && now >= self.next {
            self.turn(now, slots, due);
        }
    }

    fn turn<K>(&mut self, now: Mono, slots: &mut Slots<K>, due: &mut Vec<u32>) {
        let target = tick(now.0);
        while let Some((level, place, start)) = self.first().filter(|&(_, _, start)| start <= target) {
            self.elapsed = start;
            let mut timers = std::mem::take(&mut self.places[level * PLACES + place]);
            self.occupied[level].remove(place);
            if level == 0 {
                // Stable: those of the same nanosecond are in order already.
                timers.sort_by_key(|timer| timer.due_ns);
                let end = timers.partition_point(|timer| timer.due_ns <= now.0);
                self.fired.extend(timers.drain(..end));
            }
            if level == 1 {
                self.sift(&mut timers, slots);
            }
            // These come down a level; or they are due later within this tick, and stay.
            for timer in timers.drain(..) {
                self.place(timer);
            }
            let emptied = &mut self.places[level * PLACES + place];
            if emptied.is_empty() && timers.capacity() <= KEPT_TIMERS {
                *emptied = timers;
            }
            if level == 0 && start == target {
                break;
            }
        }
        // What is left starts after `target`, so it stays where it is.
        self.elapsed = target;
        self.next = self.first_due();
        self.fire(slots, due);
    }

    /// Leaves out the dead, which spares them the last way down. And brings the slots of the living close: some hundred
    /// that are independent of each other, so that the processor waits for many of them at a time. A step of the time
    /// soon ends the delays of a few, and would wait for each few.
    fn sift<K>(&mut self, timers: &mut Vec<Timer>, slots: &Slots<K>) {
        let all = timers.len();
        timers.retain(|timer| timer.lives(slots));
        self.dead -= all - timers.len();
    }

    /// Ends the delays whose timers have come off the wheel. All at once, for the same reason.
    fn fire<K>(&mut self, slots: &mut Slots<K>, due: &mut Vec<u32>) {
        let fired = std::mem::take(&mut self.fired);
        for timer in &fired {
            if timer.lives(slots) {
                slots[timer.slot].due = Due::Never;
                self.len -= 1;
                due.push(timer.slot);
            } else {
                self.dead -= 1;
            }
        }
        if fired.capacity() <= FEW {
            self.fired = fired;
            self.fired.clear();
        }
    }

    /// Nothing is delayed: the wheel can begin at any time.
    fn begin(&mut self, now: Mono) {
        if self.places.is_empty() {
            self.places = vec![Vec::new(); LEVELS * PLACES];
        }
        if self.dead > 0 {
            self.places.iter_mut().for_each(Vec::clear);
            self.occupied = [Places::NONE; LEVELS];
            self.dead = 0;
        }
        self.elapsed = tick(now.0);
        self.next = Mono(u64::MAX);
    }

    /// Removes all dead timers. Costs the time of their number, which as many cancellations have paid for.
    fn bury<K>(&mut self, slots: &Slots<K>) {
        for (number, timers) in self.places.iter_mut().enumerate() {
            timers.retain(|timer| timer.lives(slots));
            if timers.capacity() > KEPT_TIMERS.max(4 * timers.len()) {
                timers.shrink_to_fit();
            }
            if timers.is_empty() {
                self.occupied[number / PLACES].remove(number % PLACES);
            }
        }
        self.dead = 0;
    }

    /// The lowest occupied level, its first place, and the tick at which that begins. Nothing is due before.
    fn first(&self) -> Option<(usize, usize, u64)> {
        let first = |(level, places): (usize, &Places)| Some((level, places.first()?));
        let (level, place) = self.occupied.iter().enumerate().find_map(first)?;
        let shift = PLACE_BITS * level as u32;
        let above = self.elapsed >> (shift + PLACE_BITS) << (shift + PLACE_BITS);
        Some((level, place, above | (place as u64) << shift))
    }

    fn first_due(&self) -> Mono {
        let Some((level, place, start)) = self.first() else { return Mono(u64::MAX) };
        if level > 0 {
            return Mono(start << TICK_BITS);
        }
        let first = self.places[place].iter().map(|timer| timer.due_ns).min();
        Mono(first.expect("an occupied place has timers"))
    }

    fn place(&mut self, timer: Timer) {
        let (level, place) = self.position(timer);
        self.places[level * PLACES + place].push(timer);
        self.occupied[level].insert(place);
    }

    fn position(&self, timer: Timer) -> (usize, usize) {
        let tick = tick(timer.due_ns);
        // `| 1` puts the present tick on level 0 like its neighbours.
        let highest_bit = u64::BITS - 1 - ((tick ^ self.elapsed) | 1).leading_zeros();
        let level = highest_bit / PLACE_BITS;
        (level as usize, (tick >> (level * PLACE_BITS)) as usize % PLACES)
    }

    /// Panics if a timer is not where it belongs.
    pub(super) fn validate<K>(&self, slots: &Slots<K>) {
        let (mut len, mut dead) = (0, 0);
        for (number, timers) in self.places.iter().enumerate() {
            let (level, place) = (number / PLACES, number % PLACES);
            let occupied = self.occupied[level].contains(place);
            assert_eq!(occupied, !timers.is_empty(), "the bits name the places that have timers");
            for timer in timers {
                assert_eq!(self.position(*timer), (level, place), "a timer lies where its time says");
                if timer.lives(slots) {
                    assert!(timer.due_ns >= self.next.0, "nothing is due before the wheel is looked at");
                    assert_eq!(slots[timer.slot].order, timer.due_ns, "a timer knows when its key is due");
                    len += 1;
                } else {
                    dead += 1;
                }
            }
        }
        assert_eq!((self.len, self.dead), (len, dead), "timers are counted");
        assert!(dead <= len.max(FEW), "the dead are not more than the living");
    }
}

/// Some of the places of a level.
#[derive(Clone, Copy)]
struct Places([u64; PLACES / 64]);

impl Places {
    const NONE: Self = Self([0; PLACES / 64]);

    fn insert(&mut self, place: usize) {
        self.0[place / 64] |= 1 << (place % 64);
    }

    fn remove(&mut self, place: usize) {
        self.0[place / 64] &= !(1 << (place % 64));
    }

    fn contains(self, place: usize) -> bool {
        self.0[place / 64] >> (place % 64) & 1 == 1
    }

    fn first(&self) -> Option<usize> {
        let word = self.0.iter().position(|&word| word != 0)?;
        Some(64 * word + self.0[word].trailing_zeros() as usize)
    }
}

impl Timer {
    /// Whether this is still its key's appointment.
    fn lives<K>(&self, slots: &Slots<K>) -> bool {
        slots.get(self.slot).is_some_and(|slot| slot.due == Due::Later && slot.ticket == self.ticket)
    }
}

fn tick(at_ns: u64) -> u64 {
    at_ns >> TICK_BITS
}
