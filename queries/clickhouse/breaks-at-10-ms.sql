-- Which operations stay below 200 ms today and would not 10 ms further away?
-- Run in the folder that holds the folder `tables` (docs/export.md).
-- A long operation comes in parts. Round trips that overlap, on several connections, are all counted: `longwire predict` knows better.
select host, operation_name, count(*) as operations,
       sum(round_trips) as round_trips_in_all,
       quantileExactInclusive(0.95)(duration) / 1e6 as p95_ms,
       quantileExactInclusive(0.95)(duration + round_trips * 1e7) / 1e6 as p95_ms_at_10_ms_more
from (
    select run, id, host, operation_name, sum(duration_ns) as duration, sum(turns) as round_trips
    from file('tables/operations/*/*/*.parquet', 'Parquet')
    group by run, id, host, operation_name
) as whole
group by host, operation_name
having p95_ms <= 200 and p95_ms_at_10_ms_more > 200
order by p95_ms_at_10_ms_more desc, operation_name, host
