-- Sequelize 6, pg 8: what it sent to PostgreSQL 15.

INSERT INTO "Users" ("id","name","createdAt","updatedAt") VALUES (DEFAULT,$1,$2,$3) RETURNING "id","name","createdAt","updatedAt";

INSERT INTO "Orders" ("id","total","createdAt","updatedAt","UserId") VALUES (DEFAULT,1,'2026-01-02 03:04:05.000 +00:00','2026-01-02 03:04:05.000 +00:00',2),(DEFAULT,2,'2026-01-02 03:04:05.000 +00:00','2026-01-02 03:04:05.000 +00:00',2) RETURNING "id","total","createdAt","updatedAt","UserId";

SELECT "id", "name", "createdAt", "updatedAt" FROM "Users" AS "User" WHERE "User"."id" = 1;

SELECT "id", "name", "createdAt", "updatedAt" FROM "Users" AS "User" WHERE "User"."name" = 'a' LIMIT 1;

SELECT "id", "total", "createdAt", "updatedAt", "UserId" FROM "Orders" AS "Order";

SELECT "id", "name", "createdAt", "updatedAt" FROM "Users" AS "User" WHERE "User"."id" = 2;

SELECT "Order"."id", "Order"."total", "Order"."createdAt", "Order"."updatedAt", "Order"."UserId", "User"."id" AS "User.id", "User"."name" AS "User.name", "User"."createdAt" AS "User.createdAt", "User"."updatedAt" AS "User.updatedAt" FROM "Orders" AS "Order" LEFT OUTER JOIN "Users" AS "User" ON "Order"."UserId" = "User"."id" ORDER BY "Order"."total" DESC LIMIT 3;

SELECT "User"."id", "User"."name", "User"."createdAt", "User"."updatedAt", "Orders"."id" AS "Orders.id", "Orders"."total" AS "Orders.total", "Orders"."createdAt" AS "Orders.createdAt", "Orders"."updatedAt" AS "Orders.updatedAt", "Orders"."UserId" AS "Orders.UserId" FROM "Users" AS "User" LEFT OUTER JOIN "Orders" AS "Orders" ON "User"."id" = "Orders"."UserId";

SELECT count(*) AS "count" FROM "Orders" AS "Order";

SELECT count(*) AS "count" FROM "Orders" AS "Order" WHERE "Order"."total" = 1;

SELECT "id", "total", "createdAt", "updatedAt", "UserId" FROM "Orders" AS "Order" WHERE "Order"."total" = 1;

UPDATE "Users" SET "name"=$1,"updatedAt"=$2 WHERE "id" = $3

SELECT "id", "total", "createdAt", "updatedAt", "UserId" FROM "Orders" AS "Order" WHERE "Order"."id" = 2;
