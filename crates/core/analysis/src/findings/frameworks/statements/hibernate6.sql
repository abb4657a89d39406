-- Hibernate ORM 6.6.4, pgjdbc 42.7.4: what it sent to PostgreSQL 15.

select version()

select current_schema()

select nextval('author_seq')

select nextval('book_SEQ')

insert into author (name,id) values ($1,$2)

insert into book (author_id,title,id) values ($1,$2,$3)

select a1_0.id,a1_0.name from author a1_0

select b1_0.author_id,b1_0.id,b1_0.title from book b1_0 where b1_0.author_id=$1

select b1_0.id,b1_0.author_id,b1_0.title from book b1_0 where b1_0.title=$1 order by b1_0.id fetch first $2 rows only

select a1_0.id,a1_0.name from author a1_0 where a1_0.id=$1

select b1_0.id,a1_0.id,a1_0.name,b1_0.title from book b1_0 join author a1_0 on a1_0.id=b1_0.author_id

select count(b1_0.id) from book b1_0

select min(b1_0.id) from book b1_0

update book set author_id=$1,title=$2 where id=$3

update book b1_0 set title='q' where b1_0.id=2

select a1_0.name,count(b1_0.id) from book b1_0 join author a1_0 on a1_0.id=b1_0.author_id group by a1_0.name

delete from book where id=$1
