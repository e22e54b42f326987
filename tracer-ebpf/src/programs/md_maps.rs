//! Maps and the frozen global of the programs on md's components. With
//! [`super::read`] and [`super::maps`] the only modules that hold `unsafe`.
//!
//! Must not decide.

use aya_ebpf::{
    Global,
    macros::map,
    maps::{Array, HashMap, PerCpuArray},
};
use tracer_ebpf::{
    abi::{FRONT_ENTRIES, front_index},
    origin::abi::{CELLS, Component, ComponentCells, MdLayout},
};

use crate::maps::add_at;

#[unsafe(no_mangle)]
static MD_LAYOUT: Global<MdLayout> = Global::new(MdLayout::NONE);

/// dev_t of a component (of its disk where components are found by range) →
/// index in `COMPONENTS`.
#[map]
static COMPONENT_INDEX: HashMap<u32, u32> = HashMap::with_max_entries(1, 0);
/// The same without a hash; 0 where no component falls there.
#[map]
static COMPONENT_FRONT: Array<u64> = Array::with_max_entries(1, 0);
/// By index; 0 is none.
#[map]
static COMPONENTS: Array<Component> = Array::with_max_entries(1, 0);
#[map]
static COMPONENT_CELLS: PerCpuArray<ComponentCells> = PerCpuArray::with_max_entries(1, 0);
/// Address of a completion function → [`tracer_ebpf::origin::EndIo`].
#[map]
static END_IO: HashMap<u64, u32> = HashMap::with_max_entries(64, 0);

/// One field of [`MdLayout`], as a constant for the verifier.
macro_rules! md {
    ($($field:tt)+) => {
        $crate::md_maps::frozen(|layout| &layout.$($field)+)
    };
}
pub(crate) use md;

/// Loads what `field` points at within [`MD_LAYOUT`].
#[inline(always)]
pub(crate) fn frozen<T: Copy + 'static>(field: impl FnOnce(&'static MdLayout) -> &'static T) -> T {
    // SAFETY: `Global` is transparent.
    let layout = unsafe { &*(&raw const MD_LAYOUT).cast::<MdLayout>() };
    // SAFETY: a valid reference; volatile, because user space replaces the
    // value before the programs load.
    unsafe { core::ptr::read_volatile(field(layout)) }
}

/// Index of the component that `dev` is, or of the first on the disk `dev`.
#[inline(always)]
pub(crate) fn index_of(dev: u32) -> Option<u32> {
    let front = COMPONENT_FRONT.get(front_index(dev) & (FRONT_ENTRIES - 1))?;
    if *front == 0 {
        return None;
    }
    if *front >> 32 == u64::from(dev) {
        return Some(*front as u32);
    }
    // SAFETY: an entry changes only when the components do.
    unsafe { COMPONENT_INDEX.get(dev) }.copied()
}

#[inline(always)]
pub(crate) fn component(index: u32) -> Option<&'static Component> {
    COMPONENTS.get(index)
}

/// The number of the end function at this address.
#[inline(always)]
pub(crate) fn end_io(address: u64) -> Option<u32> {
    // SAFETY: an entry changes only when a module comes or goes.
    unsafe { END_IO.get(address) }.copied()
}

/// The per-CPU cells of a component.
#[derive(Clone, Copy)]
pub(crate) struct Cells(*mut ComponentCells);

impl Cells {
    #[inline(always)]
    pub(crate) fn of(index: u32) -> Option<Self> {
        COMPONENT_CELLS.get_ptr_mut(index).map(Self)
    }

    #[inline(always)]
    pub(crate) fn count(self, cell: usize, amount: u64) {
        // SAFETY: only computes the field's address.
        add_at::<CELLS>(unsafe { &raw mut (*self.0).cells }, cell, amount);
    }
}
