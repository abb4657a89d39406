-- Written by hand, or as other libraries write: none of it is of a framework that longwire knows.

select * from users where id = $1

SELECT u.id, u.name FROM users u WHERE u.id = 17

select a.id, a.name from author a join book b on b.author_id = a.id where a.id = ?

SELECT orders.id, orders.total FROM orders WHERE orders.user_id = $1

SELECT u.id AS u_id, u.name AS u_name, o.total FROM users u JOIN orders o ON o.user_id = u.id

SELECT name FROM books WHERE id = $1::INTEGER

select count(*) as total from orders

select t1.id, t2.name from t1 join t2 on t1.id = t2.t1_id

select x1.id from items_1 x1 where x1.name = 'a'

SELECT "id", "name" FROM "users" WHERE "id" = $1

select "users"."id", "users"."name" from "users" inner join "orders" on "users"."id" = "orders"."user_id" where "users"."id" = $1

SELECT "name" FROM "Users" AS u WHERE u."id" = $1

select * from "users" where "users"."id" = ? limit 1

select "public"."book"."id", "public"."book"."title" from "public"."book" where "public"."book"."id" = $1

SELECT u0."id", u0."name" FROM "users" AS u0 WHERE (u0."id" = $1)

SELECT "User"."id" AS "User_id", "User"."name" AS "User_name" FROM "user" "User" WHERE (("User"."id" = $1)) LIMIT 1

SELECT * FROM "users" WHERE "users"."id" = $1 ORDER BY "users"."id" LIMIT $2

SELECT b."Id", b."Title" FROM "Books" AS b WHERE b."AuthorId" = @__p_0

SELECT t0.id AS id_1, t0.name AS name_2 FROM users t0 WHERE t0.id = ?

insert into users (name, id) values ($1, $2) returning id

INSERT INTO "users" ("name") VALUES ($1) RETURNING "id"

update users set name = $1 where id = $2

delete from "users" where "users"."id" = $1

select nextval('users_id_seq')

select abalance from pgbench_accounts where aid = 1

SELECT c FROM sbtest1 WHERE id=?
