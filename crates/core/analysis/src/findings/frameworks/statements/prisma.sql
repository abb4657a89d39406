-- Prisma: statements as its documentation prints them, and its issues quote them. Not recorded.

SELECT "public"."User"."id", "public"."User"."name" FROM "public"."User" WHERE ("public"."User"."id" = $1 AND 1=1) LIMIT $2 OFFSET $3

SELECT "public"."Post"."id", "public"."Post"."title", "public"."Post"."userId" FROM "public"."Post" WHERE "public"."Post"."userId" IN ($1,$2,$3,$4) OFFSET $5

SELECT `shop`.`User`.`id`, `shop`.`User`.`name` FROM `shop`.`User` WHERE (`shop`.`User`.`id` = ? AND 1=1) LIMIT ? OFFSET ?

SELECT "t1"."id", "t1"."title", "User_posts"."__prisma_data__" AS "posts" FROM "public"."Post" AS "t1" LEFT JOIN LATERAL (SELECT 1) AS "User_posts" ON true
