# Sourced: when and where a benchmark runs, as the first lines of its results.
describe_machine() {
    echo "date      $(date -u +%FT%TZ)"
    echo "host      $(nproc) CPUs, $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1), Linux $(uname -r | cut -d- -f1)"
    echo "load      $(cut -d' ' -f1-3 /proc/loadavg) before the run"
}
