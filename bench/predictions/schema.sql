create table items (id int primary key, name text not null, stars int not null);
insert into items select n, 'item ' || n, n % 5 from generate_series(1, 1000) n;
create table visits (id bigserial primary key, item int not null);
analyze;
