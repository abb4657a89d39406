# Sourced by `make test`: gives an ordinary user the right to capture, by private copies of tcpdump and setpriv (which passes the right on to
# longwire, whose file changes with every build) in the target directory, so that the system's own stay as they are. Root needs nothing.
if [ "$(id -u)" != 0 ]; then
    capture_target="${CARGO_TARGET_DIR:-target}"
    # A process whose right comes from its file may capture; ask for it only once.
    copy_with_right() {
        local copy=$capture_target/$1 rights=$2
        if ! PATH="$PATH:/usr/sbin:/sbin" getcap "$copy" 2>/dev/null | grep -q cap_net_raw; then
            mkdir -p "$capture_target"
            install -m 700 "$(PATH="$PATH:/usr/sbin:/sbin"; command -v "$1")" "$copy"
            if ! { command -v sudo >/dev/null && sudo setcap "$rights" "$copy"; }; then
                echo "test: capturing needs root once: sudo setcap $rights $copy" >&2
                exit 2
            fi
        fi
    }
    copy_with_right tcpdump cap_net_raw,cap_net_admin=ep
    copy_with_right setpriv cap_net_raw=ep
    LONGWIRE_TCPDUMP=$(realpath "$capture_target/tcpdump")
    LONGWIRE_SETPRIV=$(realpath "$capture_target/setpriv")
    export LONGWIRE_TCPDUMP LONGWIRE_SETPRIV
fi
