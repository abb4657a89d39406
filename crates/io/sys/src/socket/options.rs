//! Socket options that neither the standard library nor `rustix` has.

use crate::error::OsError;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Of C type `int`.
pub(crate) fn set(
    socket: BorrowedFd<'_>,
    level: libc::c_int,
    name: libc::c_int,
    value: libc::c_int,
) -> Result<(), OsError> {
    let length = size_of_val(&value) as libc::socklen_t;
    // SAFETY: the kernel reads `length` bytes of `value`.
    let result =
        unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, (&raw const value).cast(), length) };
    if result < 0 { Err(OsError::last()) } else { Ok(()) }
}

/// Sets an option that is a structure of the kernel.
///
/// # Safety
/// `value` must have the option's layout, and pointers in it must be valid for its lengths.
pub(crate) unsafe fn set_plain<T>(
    socket: BorrowedFd<'_>,
    level: libc::c_int,
    name: libc::c_int,
    value: &T,
) -> Result<(), OsError> {
    let length = size_of_val(value) as libc::socklen_t;
    // SAFETY: the kernel reads `length` bytes of `value`, and what the caller says it leads to.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            name,
            std::ptr::from_ref(value).cast(),
            length,
        )
    };
    if result < 0 { Err(OsError::last()) } else { Ok(()) }
}

/// Returns the part of `room` that was filled.
pub(crate) fn get<'a>(
    socket: BorrowedFd<'_>,
    level: libc::c_int,
    name: libc::c_int,
    room: &'a mut [u8],
) -> Result<&'a [u8], OsError> {
    let mut length = libc::socklen_t::try_from(room.len()).unwrap_or(libc::socklen_t::MAX);
    // SAFETY: the kernel writes at most `length` bytes into `room`, which has as many, and says in `length`
    // how many.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            level,
            name,
            room.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    if result < 0 {
        return Err(OsError::last());
    }
    Ok(room.get(..length as usize).unwrap_or_default())
}
