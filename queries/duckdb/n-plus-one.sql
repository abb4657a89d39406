-- In which services is a statement asked again and again, and what would asking once save?
-- Run in the folder that holds the folder `tables` (docs/export.md).
-- A finding has a row for each round trip at which it is priced: one of them counts.
select host, operation_name, fingerprint,
       sum(times) as executions,
       sum(saved) as round_trips_saved
from (
    select run, host, operation_name, fingerprint, max("count") as times, max(saves_turns) as saved
    from read_parquet('tables/findings/**/*.parquet', hive_partitioning = true, union_by_name = true)
    where kind = 'n+1'
    group by run, host, operation_name, fingerprint
) as once
group by host, operation_name, fingerprint
order by round_trips_saved desc, fingerprint, host, operation_name
limit 50
