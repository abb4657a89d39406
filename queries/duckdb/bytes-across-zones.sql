-- How many bytes cross zones, and what do they cost? Zones by the first numbers of addresses: change the lines of zones, and the price.
-- Run in the folder that holds the folder `tables` (docs/export.md).
with zones as (
    select '10.1.' as prefix, 'zone-a' as zone union all
    select '10.2.', 'zone-b' union all
    select '127.', 'here'
),
ends as (
    select regexp_replace(client, ':[0-9]+$', '') as client_host, regexp_replace(server, ':[0-9]+$', '') as server_host,
           client_payload_bytes + server_payload_bytes as bytes
    from read_parquet('tables/connections/**/*.parquet', hive_partitioning = true, union_by_name = true)
)
select coalesce(nullif(from_zone, ''), 'elsewhere') as client_zone, coalesce(nullif(to_zone, ''), 'elsewhere') as server_zone,
       sum(bytes) as payload_bytes,
       case when client_zone = server_zone then 0 else sum(bytes) / 1e9 * 0.01 end as price
from (
    select bytes,
           (select max(zone) from zones where starts_with(client_host, prefix)) as from_zone,
           (select max(zone) from zones where starts_with(server_host, prefix)) as to_zone
    from ends
) as placed
group by client_zone, server_zone
order by payload_bytes desc, client_zone, server_zone
