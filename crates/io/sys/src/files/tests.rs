use super::*;
use rustix::fs::Mode;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a directory")
}

fn written(folder: &tempfile::TempDir, name: &str, mode: u32) -> PathBuf {
    let path = folder.path().join(name);
    std::fs::write(&path, "content").expect("it is written");
    std::fs::set_permissions(&path, Permissions::from_mode(mode)).expect("its owner may");
    path
}

fn rights(path: &Path) -> u32 {
    path.metadata().expect("it is there").mode() & 0o777
}

fn pipe(folder: &tempfile::TempDir) -> PathBuf {
    let path = folder.path().join("pipe");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &path,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    )
    .expect("a pipe");
    path
}

#[test]
fn pipes_devices_directories_and_sockets_are_refused_without_being_opened() {
    let folder = folder();
    let socket = folder.path().join("socket");
    let _listener = std::os::unix::net::UnixDatagram::bind(&socket).expect("a socket");
    for (path, kind) in [
        (pipe(&folder), "a pipe"),
        (PathBuf::from("/dev/zero"), "a device"),
        (folder.path().to_owned(), "a directory"),
        (socket, "a socket"),
    ] {
        let error = read_small(&path, MAX_CONFIG_BYTES).expect_err("it is no file");
        assert!(error.to_string().contains(kind), "{}: {error}", path.display());
    }
}

#[test]
fn a_pipe_that_this_process_has_open_is_read_within_the_limit() {
    use std::os::fd::AsRawFd;
    let (reader, mut writer) = std::io::pipe().expect("a pipe");
    writer.write_all(b"content").expect("it takes it");
    drop(writer);
    let path = PathBuf::from(format!("/dev/fd/{}", reader.as_raw_fd()));
    assert_eq!(read_small_text(&path, 7).expect("it is small"), "content");
}

#[test]
fn a_file_is_read_up_to_the_limit_and_no_further() {
    let folder = folder();
    let path = written(&folder, "small", 0o600);
    assert_eq!(read_small_text(&path, 7).expect("it is small"), "content");
    let error = read_small(&path, 6).expect_err("it is larger");
    assert_eq!(error.kind(), ErrorKind::FileTooLarge);
    // A sparse file of 1 TB, read only up to the limit.
    let large = folder.path().join("large");
    File::create(&large)
        .and_then(|file| file.set_len(1 << 40))
        .expect("a sparse file");
    let error = read_small(&large, MAX_CONFIG_BYTES).expect_err("it is larger");
    assert!(error.to_string().contains("larger than 1 MiB"), "{error}");
    std::fs::write(&path, [0xff, 0xfe]).expect("it is written");
    assert!(read_small_text(&path, 7).is_err_and(|error| error.to_string().contains("UTF-8")));
}

#[test]
fn a_new_file_is_its_owners_and_one_that_is_there_becomes_it() {
    let folder = folder();
    let new = folder.path().join("new");
    create_for_owner(&new, Contents::Emptied).expect("it is made");
    assert_eq!(rights(&new), 0o600);
    for (contents, left) in [(Contents::Emptied, ""), (Contents::Kept, "content")] {
        for (mode, tightened) in [(0o644, 0o600), (0o666, 0o600), (0o700, 0o700), (0o600, 0o600)] {
            let path = written(&folder, "old", mode);
            create_for_owner(&path, contents).expect("it is this user's");
            assert_eq!(rights(&path), tightened);
            assert_eq!(std::fs::read_to_string(&path).expect("it is there"), left);
            std::fs::remove_file(&path).expect("it is there");
        }
    }
}

#[test]
fn links_and_files_of_others_are_refused_and_left_as_they_are() {
    let folder = folder();
    let file = written(&folder, "file", 0o644);
    let [link, nowhere, second] = ["link", "nowhere", "second"].map(|name| folder.path().join(name));
    symlink(&file, &link).expect("a link");
    symlink(folder.path().join("missing"), &nowhere).expect("a link");
    for path in [&link, &nowhere] {
        let error = create_for_owner(path, Contents::Emptied).expect_err("it is a link");
        assert!(error.to_string().contains("a link"), "{error}");
    }
    std::fs::hard_link(&file, &second).expect("a second name");
    let error = create_for_owner(&second, Contents::Emptied).expect_err("it is a link");
    assert!(error.to_string().contains("hard link"), "{error}");
    assert_eq!(std::fs::read_to_string(&file).expect("it is there"), "content");
    assert_eq!(rights(&file), 0o644);
    assert!(!folder.path().join("missing").exists());
    if geteuid().is_root() {
        let others = written(&folder, "others", 0o666);
        std::os::unix::fs::chown(&others, Some(65534), None).expect("root may");
        let error = create_for_owner(&others, Contents::Emptied).expect_err("it is nobody's");
        assert!(error.to_string().contains("another user"), "{error}");
        assert_eq!(std::fs::read_to_string(&others).expect("it is there"), "content");
    }
}

#[test]
fn devices_and_own_descriptors_are_written_as_they_are() {
    let folder = folder();
    let null = folder.path().join("null");
    symlink("/dev/null", &null).expect("a link");
    for path in [Path::new("/dev/null"), &null, Path::new("/dev/fd/2")] {
        let mut file = create_for_owner(path, Contents::Emptied).expect("it can be written");
        file.write_all(b"").expect("it takes it");
    }
}

#[test]
fn a_pipe_that_nobody_reads_is_refused_and_one_that_is_read_is_written() {
    let folder = folder();
    let pipe = folder.path().join("pipe");
    let link = folder.path().join("link");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, Mode::from_raw_mode(0o600)).expect("a pipe");
    symlink(&pipe, &link).expect("a link");
    for path in [&pipe, &link] {
        for contents in [Contents::Emptied, Contents::Kept] {
            let error = create_for_owner(path, contents).expect_err("nobody reads it");
            assert!(
                error.to_string().contains("no process reads this pipe"),
                "{error}"
            );
        }
    }
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || std::fs::read(pipe)
    });
    let mut file = create_for_owner(&pipe, Contents::Kept).expect("it is read");
    // More than a pipe holds: the write waits for the reader.
    let content = vec![b'x'; 1 << 20];
    file.write_all(&content).expect("it is read");
    drop(file);
    let read = reader.join().expect("no panic").expect("it can be read");
    assert!(read == content, "{} bytes", read.len());
}
