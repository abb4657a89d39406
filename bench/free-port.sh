# To be sourced: `free_port` for the benchmarks.

# A port on which nobody listens and which nobody was given yet.
free_port() {
    local candidate
    while :; do
        candidate=$((20000 + RANDOM % 12000))
        (exec 3<>"/dev/tcp/127.0.0.1/$candidate") 2>/dev/null || break
    done
    echo "$candidate"
}
