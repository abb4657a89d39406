//! Puts the terminal into raw mode on its alternate screen, and restores it in every case.

mod silent;

use anyhow::{Context, Result};
use crossterm::cursor::{Hide, Show};
use crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use crossterm::execute;
use crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use ratatui_core::terminal::Terminal;
use screen::{Glyphs, Screen, ScreenKey, ScreenLook};
use signal_hook::consts::{SIGCONT, SIGSTOP, SIGTSTP, SIGWINCH};
use silent::SilentBackend;
use std::fs::File;
use std::io::{self, IsTerminal};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// After these, there is something to do.
pub const SIGNALS: &[i32] = &[SIGTSTP, SIGCONT, SIGWINCH];

/// Restores the terminal on drop, or when any thread panics.
pub struct ScreenTerminal {
    terminal: Terminal<SilentBackend>,
    /// A panic has restored the terminal.
    gone: Arc<AtomicBool>,
    /// Another process sent SIGTSTP.
    stop: Arc<AtomicBool>,
    /// Continued after a stop (SIGCONT).
    on_again: Arc<AtomicBool>,
    resized: Arc<AtomicBool>,
    /// Where keys are read.
    keys: Option<File>,
    /// The last look found an event; others may have been read with it.
    more: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reported {
    Key(ScreenKey),
    /// Resized, or resumed after a stop.
    Changed,
}

pub fn is_there() -> bool {
    io::stdout().is_terminal() && sys::terminal::is_there()
}

impl ScreenTerminal {
    pub fn open_terminal() -> Result<Self> {
        let gone = Arc::new(AtomicBool::new(false));
        restore_on_panic(Arc::clone(&gone));
        let (stop, on_again, resized) = (noted(SIGTSTP)?, noted(SIGCONT)?, noted(SIGWINCH)?);
        enable_raw_mode().context("could not take the terminal")?;
        let mut taken = Self {
            terminal: Terminal::new(SilentBackend::default()).context("could not take the terminal")?,
            gone,
            stop,
            on_again,
            resized,
            keys: File::open("/dev/tty").ok(),
            more: true,
        };
        taken.open()?;
        Ok(taken)
    }

    fn open(&mut self) -> Result<()> {
        execute!(io::stdout(), EnterAlternateScreen, Hide).context(NOT_WRITTEN)?;
        self.terminal.clear().context(NOT_WRITTEN)
    }

    /// Restores the terminal and stops this process until SIGCONT, as from the shell's `fg`. No
    /// effect without a job-control shell.
    pub fn suspend(&mut self) -> Result<()> {
        if !sys::terminal::has_job_control() {
            return Ok(());
        }
        restore();
        signal_hook::low_level::raise(SIGSTOP).context("could not stop this process")?;
        self.on_again.store(false, Ordering::Relaxed);
        enable_raw_mode().context("could not take the terminal again")?;
        self.open()
    }

    /// Stops on a pending SIGTSTP. Takes the terminal again after a stop that bypassed this code.
    pub fn follow_signals(&mut self) -> Result<bool> {
        if self.stop.swap(false, Ordering::Relaxed) {
            self.suspend()?;
            return Ok(true);
        }
        if !self.on_again.swap(false, Ordering::Relaxed) {
            return Ok(false);
        }
        // Another program may have changed the terminal mode.
        disable_raw_mode().ok();
        enable_raw_mode().context("could not take the terminal again")?;
        self.open()?;
        Ok(true)
    }

    /// Writes only changed cells.
    ///
    /// # Errors
    /// If the terminal is gone, or a thread panicked.
    pub fn show(&mut self, screen: &mut Screen) -> Result<()> {
        anyhow::ensure!(!self.gone.load(Ordering::Relaxed), "a part of longwire failed");
        self.terminal
            .draw(|frame| screen.draw(frame.area(), frame.buffer_mut()))
            .context(NOT_WRITTEN)?;
        Ok(())
    }

    /// Readable if a key was pressed.
    pub fn keys(&self) -> Option<BorrowedFd<'_>> {
        self.keys.as_ref().map(AsFd::as_fd)
    }

    /// Does not wait for more.
    pub fn next_reported(&mut self) -> Result<Option<Reported>> {
        // A poll without an event is a millisecond of work: it tries again until its time is over.
        let is_readable = |keys| sys::wait::until_ready(keys, sys::wait::PollFlags::IN, Duration::ZERO);
        let may_be = self.keys().is_none_or(is_readable) || self.more;
        if !self.resized.swap(false, Ordering::Relaxed) && !may_be {
            return Ok(None);
        }
        // A zero timeout would skip the check.
        self.more = event::poll(MIN_DURATION).context(NOT_READ)?;
        if !self.more {
            return Ok(None);
        }
        Ok(match event::read().context(NOT_READ)? {
            Event::Key(event) => key(event).map(Reported::Key),
            Event::Resize(..) | Event::FocusGained => Some(Reported::Changed),
            _ => None,
        })
    }
}

impl Drop for ScreenTerminal {
    fn drop(&mut self) {
        if !self.gone.swap(true, Ordering::Relaxed) {
            restore();
        }
    }
}

fn noted(signal: i32) -> Result<Arc<AtomicBool>> {
    let noted = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(signal, Arc::clone(&noted)).context("could not watch for signals")?;
    Ok(noted)
}

/// The terminal may be gone, so errors are ignored.
fn restore() {
    execute!(io::stdout(), LeaveAlternateScreen, Show).ok();
    disable_raw_mode().ok();
}

/// Restores the terminal before a panic message is printed.
fn restore_on_panic(gone: Arc<AtomicBool>) {
    let say = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !gone.swap(true, Ordering::Relaxed) {
            restore();
        }
        say(panic);
    }));
}

fn key(event: KeyEvent) -> Option<ScreenKey> {
    if event.kind == KeyEventKind::Release {
        return None;
    }
    let control = event.modifiers.contains(KeyModifiers::CONTROL);
    Some(match event.code {
        KeyCode::Char('c') if control => ScreenKey::Interrupt,
        KeyCode::Char('z') if control => ScreenKey::Suspend,
        KeyCode::Char(_) if control => return None,
        KeyCode::Char(character) => ScreenKey::Char(character),
        KeyCode::Enter => ScreenKey::Enter,
        KeyCode::Esc => ScreenKey::Escape,
        KeyCode::Backspace => ScreenKey::Backspace,
        KeyCode::Tab => ScreenKey::Tab,
        KeyCode::BackTab => ScreenKey::BackTab,
        KeyCode::Up => ScreenKey::Up,
        KeyCode::Down => ScreenKey::Down,
        KeyCode::Left => ScreenKey::Left,
        KeyCode::Right => ScreenKey::Right,
        KeyCode::PageUp => ScreenKey::PageUp,
        KeyCode::PageDown => ScreenKey::PageDown,
        KeyCode::Home => ScreenKey::Home,
        KeyCode::End => ScreenKey::End,
        _ => return None,
    })
}

/// Derived from locale, `NO_COLOR` and `TERM`.
pub fn screen_look(ascii: bool) -> ScreenLook {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(variable);
    ScreenLook {
        glyphs: match ascii || !is_utf8(locale.as_deref().unwrap_or_default()) {
            true => Glyphs::Ascii,
            false => Glyphs::Unicode,
        },
        colour: variable("NO_COLOR").is_none() && variable("TERM").is_none_or(|term| term != "dumb"),
    }
}

fn is_utf8(locale: &str) -> bool {
    let locale = locale.to_ascii_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}

const MIN_DURATION: Duration = Duration::from_millis(1);
const NOT_WRITTEN: &str = "could not write to the terminal";
const NOT_READ: &str = "could not read from the terminal";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locales_say_whether_there_is_unicode() {
        for (locale, utf8) in [
            ("de_DE.UTF-8", true),
            ("C.utf8", true),
            ("C", false),
            ("", false),
            ("en_US.ISO-8859-1", false),
        ] {
            assert_eq!(is_utf8(locale), utf8, "{locale}");
        }
    }

    #[test]
    fn control_c_ends_and_other_control_keys_do_nothing() {
        let pressed = |code, modifiers| key(KeyEvent::new(code, modifiers));
        assert_eq!(
            pressed(KeyCode::Char('c'), KeyModifiers::CONTROL),
            Some(ScreenKey::Interrupt)
        );
        assert_eq!(pressed(KeyCode::Char('l'), KeyModifiers::CONTROL), None);
        assert_eq!(
            pressed(KeyCode::Char('S'), KeyModifiers::SHIFT),
            Some(ScreenKey::Char('S'))
        );
    }
}
