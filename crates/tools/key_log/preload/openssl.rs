//! Preloaded library (`LD_PRELOAD`) that makes every OpenSSL in a program append its keys to the
//! file in `LONGWIRE_KEY_LOG`, in the format of RFC 9850.
//!
//! It wraps the functions that create a context, and sets OpenSSL's key log callback. A program's
//! own callback replaces it: that program has another key log.
//!
//! It must not disturb the program: it never prints, panics, changes `errno` or, after loading,
//! allocates in the program's memory. It ignores failures, and never creates the file.

// Built without the standard library, which is as large as a program; linted with it as an example
// of the crate.
#![cfg_attr(key_log_preload, no_std)]
#![allow(non_snake_case, reason = "the functions of OpenSSL have names of their own")]

use core::ffi::{CStr, c_char, c_int, c_void};
use core::mem::transmute;
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

type KeyLogCallback = unsafe extern "C" fn(*const c_void, *const c_char);

#[repr(C)]
struct AddressInfo {
    file: *const c_char,
    base: *mut c_void,
    symbol: *const c_char,
    symbol_address: *mut c_void,
}

#[repr(C)]
struct Part {
    begin: *const c_void,
    length: usize,
}

#[link(name = "c")]
unsafe extern "C" {
    fn dladdr(address: *const c_void, info: *mut AddressInfo) -> c_int;
    fn dlopen(file: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    fn dlclose(library: *mut c_void) -> c_int;
    fn getenv(name: *const c_char) -> *mut c_char;
    fn strdup(text: *const c_char) -> *mut c_char;
    fn strlen(text: *const c_char) -> usize;
    fn open(path: *const c_char, flags: c_int, ...) -> c_int;
    fn writev(file: c_int, parts: *const Part, count: c_int) -> isize;
    fn close(file: c_int) -> c_int;
    fn __errno_location() -> *mut c_int;
}

/// Required without the standard library, although this code never panics.
#[cfg(key_log_preload)]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

const RTLD_LAZY: c_int = 1;
const RTLD_NOLOAD: c_int = 4;
/// The next definition after this library's own.
const RTLD_NEXT: *mut c_void = ptr::without_provenance_mut(usize::MAX);
const O_WRONLY: c_int = 1;
const O_APPEND: c_int = 0o2000;
const O_CLOEXEC: c_int = 0o2_000_000;

/// The key log, or null if the environment names none.
static PATH: AtomicPtr<c_char> = AtomicPtr::new(ptr::null_mut());

/// Run by the dynamic linker after loading this library, before any thread can change the
/// environment.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_LOAD: extern "C" fn() = remember_path;

extern "C" fn remember_path() {
    // SAFETY: the name ends in a zero byte; what getenv returns is null or does, and is read before anything
    // can change it.
    unsafe {
        let path = getenv(c"LONGWIRE_KEY_LOG".as_ptr());
        if !path.is_null() {
            PATH.store(strdup(path), Ordering::Release);
        }
    }
}

/// Wraps OpenSSL's function of this name: creates a context for `method`.
///
/// # Safety
/// As for OpenSSL's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn SSL_CTX_new(method: *const c_void) -> *mut c_void {
    type Real = unsafe extern "C" fn(*const c_void) -> *mut c_void;
    let library = Library::from_method(method);
    let Some(real) = library.function(c"SSL_CTX_new", SSL_CTX_new as *const ()) else {
        return ptr::null_mut();
    };
    // SAFETY: it is the function of this name of the library that `method` belongs to, given what the program
    // gave.
    let context = unsafe { transmute::<*mut c_void, Real>(real)(method) };
    library.log_keys_of(context);
    context
}

/// Wraps OpenSSL 3's function of this name: creates a context for `method` in a library context.
///
/// # Safety
/// As for OpenSSL's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn SSL_CTX_new_ex(
    library_context: *mut c_void,
    properties: *const c_char,
    method: *const c_void,
) -> *mut c_void {
    type Real = unsafe extern "C" fn(*mut c_void, *const c_char, *const c_void) -> *mut c_void;
    let library = Library::from_method(method);
    let Some(real) = library.function(c"SSL_CTX_new_ex", SSL_CTX_new_ex as *const ()) else {
        return ptr::null_mut();
    };
    // SAFETY: as above.
    let context = unsafe { transmute::<*mut c_void, Real>(real)(library_context, properties, method) };
    library.log_keys_of(context);
    context
}

/// The library with the functions of a context. A program may have loaded several OpenSSLs
/// (Python's, and one of a driver's wheel), for private use (`RTLD_LOCAL`), under any name.
struct Library {
    /// Null if the library is unknown.
    handle: *mut c_void,
}

impl Library {
    fn from_method(method: *const c_void) -> Self {
        let _errno = KeptErrno::now();
        let mut info = AddressInfo {
            file: ptr::null(),
            base: ptr::null_mut(),
            symbol: ptr::null(),
            symbol_address: ptr::null_mut(),
        };
        // SAFETY: dladdr only compares the address, and fills `info` where it returns more than 0; the name
        // is that of a loaded library, which dlopen loads no second time.
        let handle = unsafe {
            if dladdr(method, &raw mut info) == 0 || info.file.is_null() {
                ptr::null_mut()
            } else {
                dlopen(info.file, RTLD_LAZY | RTLD_NOLOAD)
            }
        };
        Self { handle }
    }

    /// Its function `name`, or `None` if there is only `own`.
    fn function(&self, name: &CStr, own: *const ()) -> Option<*mut c_void> {
        let _errno = KeptErrno::now();
        let from = if self.handle.is_null() {
            RTLD_NEXT
        } else {
            self.handle
        };
        // SAFETY: the handle is open as long as `self`, and the name ends in a zero byte.
        let found = unsafe { dlsym(from, name.as_ptr()) };
        (!found.is_null() && !ptr::addr_eq(found, own)).then_some(found)
    }

    fn log_keys_of(&self, context: *mut c_void) {
        type Set = unsafe extern "C" fn(*mut c_void, Option<KeyLogCallback>);
        if context.is_null() || PATH.load(Ordering::Acquire).is_null() {
            return;
        }
        // Missing before OpenSSL 1.1.1.
        let Some(set) = self.function(c"SSL_CTX_set_keylog_callback", ptr::null()) else {
            return;
        };
        let _errno = KeptErrno::now();
        // SAFETY: it is the function of this name of the library that has just made the context.
        unsafe { transmute::<*mut c_void, Set>(set)(context, Some(write_line)) };
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        if !self.handle.is_null() {
            let _errno = KeptErrno::now();
            // SAFETY: opened by `from_method`, and closed here alone; the program's own use keeps the library
            // loaded.
            unsafe { dlclose(self.handle) };
        }
    }
}

/// Appends `line` to the key log in one write, so that lines of other threads and processes stay
/// whole.
unsafe extern "C" fn write_line(_connection: *const c_void, line: *const c_char) {
    let path = PATH.load(Ordering::Acquire);
    if path.is_null() || line.is_null() {
        return;
    }
    let _errno = KeptErrno::now();
    // SAFETY: both texts end in a zero byte, the path for the life of the process and the line for this call;
    // the parts point to bytes that outlive the write; the file is closed by none but this function.
    unsafe {
        // Opened for each line: programs close unknown descriptors, and change into others.
        let file = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
        if file < 0 {
            return;
        }
        let parts = [
            Part {
                begin: line.cast(),
                length: strlen(line),
            },
            Part {
                begin: c"\n".as_ptr().cast(),
                length: 1,
            },
        ];
        writev(file, parts.as_ptr(), 2);
        close(file);
    }
}

/// Restores `errno` on drop.
struct KeptErrno(c_int);

impl KeptErrno {
    fn now() -> Self {
        // SAFETY: each thread has its own, for as long as it lives.
        Self(unsafe { *__errno_location() })
    }
}

impl Drop for KeptErrno {
    fn drop(&mut self) {
        // SAFETY: as above.
        unsafe { *__errno_location() = self.0 };
    }
}
