-- Hibernate ORM 5.6.15, pgjdbc 42.7.4: what it sent to PostgreSQL 15.

select current_schema()

select nextval ('author_seq')

select nextval ('hibernate_sequence')

insert into author (name, id) values ($1, $2)

insert into book (author_id, title, id) values ($1, $2, $3)

select m_author0_.id as id1_0_, m_author0_.name as name2_0_ from author m_author0_

select books0_.author_id as author_i3_1_0_, books0_.id as id1_1_0_, books0_.id as id1_1_1_, books0_.author_id as author_i3_1_1_, books0_.title as title2_1_1_ from book books0_ where books0_.author_id=$1

select m_book0_.id as id1_1_, m_book0_.author_id as author_i3_1_, m_book0_.title as title2_1_ from book m_book0_ where m_book0_.title=$1 order by m_book0_.id limit $2

select m_author0_.id as id1_0_0_, m_author0_.name as name2_0_0_ from author m_author0_ where m_author0_.id=$1

select m_book0_.id as id1_1_0_, m_author1_.id as id1_0_1_, m_book0_.author_id as author_i3_1_0_, m_book0_.title as title2_1_0_, m_author1_.name as name2_0_1_ from book m_book0_ inner join author m_author1_ on m_book0_.author_id=m_author1_.id

select count(m_book0_.id) as col_0_0_ from book m_book0_

select min(m_book0_.id) as col_0_0_ from book m_book0_

update book set author_id=$1, title=$2 where id=$3

update book set title='q' where id=2

select m_author1_.name as col_0_0_, count(m_book0_.id) as col_1_0_ from book m_book0_ inner join author m_author1_ on m_book0_.author_id=m_author1_.id group by m_author1_.name

delete from book where id=$1
