\set first random(1, 19501)
select id, note from notes where id between :first and :first + 499;
