-- ActiveRecord: statements as the Rails guides print them (Active Record Query Interface). Not recorded.

SELECT "customers".* FROM "customers" WHERE "customers"."id" = $1 LIMIT $2

SELECT "books".* FROM "books" WHERE "books"."author_id" = $1

SELECT "customers".* FROM "customers" ORDER BY "customers"."id" ASC LIMIT $1

SELECT `authors`.* FROM `authors` WHERE `authors`.`id` IN (1,2,3)

SELECT 1 AS one FROM "customers" WHERE "customers"."first_name" = $1 LIMIT $2

SELECT "books"."id" AS t0_r0, "books"."title" AS t0_r1, "authors"."id" AS t1_r0 FROM "books" LEFT OUTER JOIN "authors" ON "authors"."id" = "books"."author_id" LIMIT $1
