"""Compares what `longwire plan --json` predicted with what `longwire lab run --json` measured, for labs/estate.toml.

python3 labs/estate/compare.py PLAN.jsonl PAGES.jsonl JOB.jsonl: errors of all placements, and whether the cheapest predicted one is the
cheapest by what was measured. Prices are those of the plan: they follow from the file and the captures, and are not measured again.
"""
import json
import statistics
import sys

PLACES = {"o": "office", "n": "near", "f": "far"}
PAGE, JOB = "GET /index.php", "select amount"
PAGE_BUDGET, JOB_BUDGET = 100e6, 90e6


def points(path):
    measured = {}
    for record in map(json.loads, open(path)):
        if record["type"] == "point":
            measured[record["settings"]["variant"]] = record["measured_ns"]
    return measured


def read_plan(path):
    placements = {}
    for record in map(json.loads, open(path)):
        if record["type"] == "placement":
            placements[record["placement"]] = record
        if record["type"] == "placed_operation":
            placements[record["placement"]][record["operation_name"]] = record["predicted_ns"]
        if record["type"] == "plan":
            answer = record
    return placements, answer


def main(plan, pages, jobs):
    placements, answer = read_plan(plan)
    pages, jobs = points(pages), points(jobs)
    between = {"on": "on", "no": "on", "of": "of", "fo": "of", "nf": "nf", "fn": "nf"}
    errors, cheapest = {"page": {}, "job": {}}, None
    for words, record in placements.items():
        at = dict(word.split("=") for word in words.split(","))
        letters = {service: place[0] for service, place in at.items()}
        page = pages["".join(letters[one] for one in ["shop", "stock", "catalog", "orders"])]
        pair = letters["job"] + letters["orders"]
        job = jobs[between.get(pair, "oo")]
        name = next(key for key in record if key.startswith(JOB))
        if record["moved"] > 0:
            errors["page"][letters["shop"] + letters["stock"] + letters["catalog"] + letters["orders"]] = record[PAGE] / page - 1
            if pair[0] != pair[1]:
                errors["job"][between[pair]] = record[name] / job - 1
        keeps = page <= PAGE_BUDGET and job <= JOB_BUDGET
        if keeps and (cheapest is None or record["price_a_month"] < cheapest[0]):
            cheapest = (record["price_a_month"], words)
        if keeps != record["keeps_budgets"]:
            print(f"verdicts differ: {words}: page {page / 1e6:.1f} ms measured, {record[PAGE] / 1e6:.1f} ms predicted")
    every = {**errors["page"], **{"job " + key: error for key, error in errors["job"].items()}}
    worst = sorted(every.items(), key=lambda item: -abs(item[1]))
    print(f"{len(placements)} placements, {len(every)} different measured points")
    print(f"median error {statistics.median(abs(error) for error in every.values()):.1%}")
    print("worst: " + ", ".join(f"{name} {error:+.1%}" for name, error in worst[:8]))
    print(f"beyond 10 %: {sum(abs(error) > 0.1 for error in every.values())}")
    print(f"cheapest predicted: {answer.get('cheapest')}")
    print(f"cheapest measured:  {cheapest and cheapest[1]}")


main(*sys.argv[1:])
