# Sourced by `make test`: gives an ordinary user the right to capture, by a private copy of tcpdump in the target
# directory, so that the system's own stays as it is. Root needs nothing.
if [ "$(id -u)" != 0 ]; then
    capture_copy="${CARGO_TARGET_DIR:-target}/tcpdump"
    system_tcpdump=$(PATH="$PATH:/usr/sbin:/sbin"; command -v tcpdump)
    # A process whose right comes from its file may capture; ask for it only once.
    if ! PATH="$PATH:/usr/sbin:/sbin" getcap "$capture_copy" 2>/dev/null | grep -q cap_net_raw; then
        mkdir -p "$(dirname "$capture_copy")"
        install -m 700 "$system_tcpdump" "$capture_copy"
        if ! { command -v sudo >/dev/null && sudo setcap cap_net_raw,cap_net_admin=ep "$capture_copy"; }; then
            echo "test: capturing needs root once: sudo setcap cap_net_raw,cap_net_admin=ep $capture_copy" >&2
            exit 2
        fi
    fi
    LONGWIRE_TCPDUMP=$(realpath "$capture_copy")
    export LONGWIRE_TCPDUMP
fi
