-- Which statements cost most round trips, over all hosts, and what would 10 ms more cost?
-- Run in the folder that holds the folder `tables` (docs/export.md).
select fingerprint,
       count(distinct host) as hosts,
       sum(calls) as executions,
       sum(turns) as round_trips,
       sum(total_ns) / 1e6 as waited_ms,
       sum(network_ns) / 1e6 as network_ms,
       sum(turns) * 10.0 as ms_at_10_ms_more
from read_parquet('tables/statements/**/*.parquet', hive_partitioning = true, union_by_name = true)
group by fingerprint
order by round_trips desc, fingerprint
limit 50
