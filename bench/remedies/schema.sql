create table customers (id int primary key, name varchar(80) not null, city varchar(80) not null);
create table orders (id int primary key, customer_id int not null references customers(id), total int not null, note varchar(120) not null);
