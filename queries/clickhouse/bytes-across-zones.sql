-- How many bytes cross zones, and what do they cost? Zones by the first numbers of addresses: change the lines of zones, and the price.
-- Run in the folder that holds the folder `tables` (docs/export.md).
with
    [('10.1.', 'zone-a'), ('10.2.', 'zone-b'), ('127.', 'here')] as zones,
    (host -> arrayElementOrNull(arrayFilter(zone -> startsWith(host, zone.1), zones), 1).2) as zone_of
select ifNull(zone_of(replaceRegexpOne(client, ':[0-9]+$', '')), 'elsewhere') as client_zone,
       ifNull(zone_of(replaceRegexpOne(server, ':[0-9]+$', '')), 'elsewhere') as server_zone,
       sum(client_payload_bytes + server_payload_bytes) as payload_bytes,
       if(client_zone = server_zone, 0, payload_bytes / 1e9 * 0.01) as price
from file('tables/connections/*/*/*/*.parquet', 'Parquet')
group by client_zone, server_zone
order by payload_bytes desc, client_zone, server_zone
