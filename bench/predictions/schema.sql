create table items (id int primary key, name text not null, stars int not null, author_id int not null);
insert into items select n, 'item ' || n, n % 5, 1 + n * 37 % 1000 from generate_series(1, 1000) n;
create table authors (id int primary key, name text not null);
insert into authors select n, 'author ' || n from generate_series(1, 1000) n;
create table visits (id bigserial primary key, item int not null);
analyze;
