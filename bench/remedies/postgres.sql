insert into customers select i, 'customer ' || i, 'city ' || i % 50 from generate_series(1, 2000) i;
insert into orders select i, i * 7 % 2000 + 1, i % 900, 'note ' || md5(i::text) from generate_series(1, 20000) i;
create table entries (id serial primary key, order_id int not null, article varchar(60) not null, price int not null);
analyze;
