// main.rs - rowscan from Rust, by hand: the part of rowscan.h that one scan in host memory needs
// SPDX-License-Identifier: MIT
//
// A binding declares the structs whole and in order; their first field is their size, which is their version. `cargo run`
// builds it, with PKG_CONFIG_PATH where pkg-config finds no rowscan by itself.
use std::ffi::{c_char, c_int, c_uint, c_void, CStr};
use std::mem::{size_of, zeroed};
use std::ptr::null;

const OK: c_int = 0;
const SUM: c_int = 0;
const REVERSE: c_uint = 2;
const F64: c_int = 4;

#[repr(C)]
struct Array { // rowscan_input, and rowscan_output, whose data is written
    data: *const c_void,
    kind: c_int,
    strides: *const i64, // in elements; null: dense in C order
    reserved: [*const c_void; 2],
}

#[repr(C)]
struct Problem { // rowscan_problem; of its unions the first member
    size: usize,
    op: c_int,
    flags: c_uint,
    rank: c_int,
    dim: c_int,
    shape: *const i64,
    input: Array,
    output: Array,
    mask: Array,
    mask_mode: c_int,
    acc_type: c_int,
    init: Array,
    totals: Array,
    workspace: *mut c_void,
    workspace_bytes: usize,
    more: [Array; 4],
    second: Array,
    segments: Array,
    segment_mode: c_int,
    params: [f64; 4],
}

extern "C" {
    fn rowscan_open(context: *mut *mut c_void, options: *const c_void) -> c_int;
    fn rowscan_scan_host(context: *mut c_void, problem: *const Problem) -> c_int;
    fn rowscan_close(context: *mut c_void);
    fn rowscan_last_error() -> *const c_char;
}

fn check(status: c_int) -> Result<(), String> {
    // The message is of this thread's last call that failed, and the next call may replace it: copy it at once.
    if status == OK { Ok(()) } else { Err(unsafe { CStr::from_ptr(rowscan_last_error()) }.to_string_lossy().into()) }
}

/// Sums of each row of a matrix of `columns` columns, from the last element to the first.
fn reverse_sums(context: *mut c_void, x: &[f64], columns: usize, y: &mut [f64]) -> Result<(), String> {
    assert!(x.len() == y.len() && x.len() % columns == 0);
    let shape = [(x.len() / columns) as i64, columns as i64];
    let mut problem: Problem = unsafe { zeroed() }; // zero is the default of every field
    problem.size = size_of::<Problem>();
    (problem.op, problem.flags) = (SUM, REVERSE);
    (problem.rank, problem.dim, problem.shape) = (2, 1, shape.as_ptr());
    problem.input = Array { data: x.as_ptr().cast(), kind: F64, strides: null(), reserved: [null(); 2] };
    problem.output = Array { data: y.as_mut_ptr().cast(), kind: F64, strides: null(), reserved: [null(); 2] };
    check(unsafe { rowscan_scan_host(context, &problem) })
}

fn main() -> Result<(), String> {
    let (x, mut y) = ([1.0, 2.0, 3.0, 10.0, 20.0, 30.0], [0.0; 6]);
    let mut context = std::ptr::null_mut();
    check(unsafe { rowscan_open(&mut context, null()) })?;
    let result = reverse_sums(context, &x, 3, &mut y);
    unsafe { rowscan_close(context) };
    println!("{y:?}");
    result
}
