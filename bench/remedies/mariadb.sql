insert into customers select seq, concat('customer ', seq), concat('city ', seq % 50) from seq_1_to_2000;
insert into orders select seq, seq * 7 % 2000 + 1, seq % 900, concat('note ', md5(seq)) from seq_1_to_20000;
create table entries (id int auto_increment primary key, order_id int not null, article varchar(60) not null, price int not null);
analyze table customers, orders;
