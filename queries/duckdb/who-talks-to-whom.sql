-- Who talks to which server, with how many round trips and bytes?
-- Run in the folder that holds the folder `tables` (docs/export.md).
select regexp_replace(client, ':[0-9]+$', '') as from_host, server as to_server, protocol_name,
       count(*) as connections,
       sum(turns) as round_trips,
       sum(exchanges) as exchanges_made,
       sum(client_payload_bytes + server_payload_bytes) as bytes,
       min(rtt_ns) / 1e6 as least_rtt_ms
from read_parquet('tables/connections/**/*.parquet', hive_partitioning = true, union_by_name = true)
group by from_host, to_server, protocol_name
order by round_trips desc, from_host, to_server, protocol_name
