#!/bin/sh
# Measures every placement of labs/estate.toml and labs/estate-job.toml, has `longwire plan` predict them from the captures without
# distance, and compares. $1: the longwire to use; $2: where the results go. A quarter of an hour, on a machine that does nothing else.
set -eu
longwire=$(realpath "$1")
cd "$(dirname "$0")/../.."
results=${2:-.longwire/lab/estate-plan}
mkdir -p "$results"
"$longwire" lab run labs/estate.toml --directory "$results/pages" --json > "$results/pages.jsonl"
"$longwire" lab run labs/estate-job.toml --directory "$results/job" --json > "$results/job.jsonl"
# Of the three captures of pages without distance, that of the page as it is.
for baseline in "$results"/pages/baselines/*; do
    if grep -qa "GET /index.php HTTP" "$baseline/link-1.pcap"; then pages=$baseline; fi
done
"$longwire" plan labs/estate/estate.toml "$pages"/*.pcap "$results"/job/baselines/*/*.pcap
"$longwire" plan labs/estate/estate.toml "$pages"/*.pcap "$results"/job/baselines/*/*.pcap --json > "$results/plan.jsonl"
python3 labs/estate/compare.py "$results/plan.jsonl" "$results/pages.jsonl" "$results/job.jsonl"
