-- Which operations wait for more round trips this week than the week before?
-- Run in the folder that holds the folder `tables` (docs/export.md).
select operation_name,
       sum(case when date > last_day - 7 then turns else 0 end) * 1.0 / nullif(sum(case when date > last_day - 7 and not continues then 1 else 0 end), 0) as turns_this_week,
       sum(case when not (date > last_day - 7) then turns else 0 end) * 1.0 / nullif(sum(case when not (date > last_day - 7) and not continues then 1 else 0 end), 0) as turns_week_before,
       sum(case when continues then 0 else 1 end) as operations
from read_parquet('tables/operations/**/*.parquet', hive_partitioning = true, union_by_name = true)
cross join (select max(date) as last_day from read_parquet('tables/operations/**/*.parquet', hive_partitioning = true, union_by_name = true)) as latest
where date > last_day - 14
group by operation_name
order by turns_this_week - turns_week_before desc nulls last, operation_name
limit 50
