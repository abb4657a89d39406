-- Django 5.2.19, psycopg 3.3.9: what its ORM sent to PostgreSQL 15.

SELECT set_config('TimeZone', 'UTC', false)

INSERT INTO "library_author" ("name") VALUES ('x') RETURNING "library_author"."id"

INSERT INTO "library_book" ("title", "author_id") VALUES ('t', 1) RETURNING "library_book"."id"

INSERT INTO "library_book" ("title", "author_id") SELECT * FROM UNNEST(('{u,u,u}')::varchar[], ('{1,1,1}'::int2[])::bigint[]) RETURNING "library_book"."id"

SELECT "library_author"."id", "library_author"."name" FROM "library_author" WHERE "library_author"."id" = 1 LIMIT 21

SELECT "library_author"."id", "library_author"."name" FROM "library_author" WHERE "library_author"."name" = 'x' ORDER BY "library_author"."id" ASC LIMIT 1

SELECT "library_book"."id", "library_book"."title", "library_book"."author_id" FROM "library_book"

SELECT "library_book"."id", "library_book"."title", "library_book"."author_id", "library_author"."id", "library_author"."name" FROM "library_book" INNER JOIN "library_author" ON ("library_book"."author_id" = "library_author"."id") WHERE "library_author"."name" = 'x' ORDER BY "library_book"."title" DESC LIMIT 10

SELECT "library_author"."id", "library_author"."name" FROM "library_author"

SELECT "library_book"."id", "library_book"."title", "library_book"."author_id" FROM "library_book" WHERE "library_book"."author_id" IN (1)

SELECT COUNT(*) AS "__count" FROM "library_book" WHERE "library_book"."title" = 't'

SELECT 1 AS "a" FROM "library_book" WHERE "library_book"."title" = 't' LIMIT 1

UPDATE "library_book" SET "title" = 'z', "author_id" = 1 WHERE "library_book"."id" = 4

UPDATE "library_book" SET "title" = 'k' WHERE "library_book"."id" = 4

SELECT "library_author"."id", "library_author"."name", COUNT("library_book"."id") AS "n" FROM "library_author" LEFT OUTER JOIN "library_book" ON ("library_author"."id" = "library_book"."author_id") GROUP BY "library_author"."id"

SELECT "library_book"."id", "library_book"."title", "library_book"."author_id" FROM "library_book" WHERE "library_book"."author_id" = 1

DELETE FROM "library_book" WHERE "library_book"."id" IN (4)
