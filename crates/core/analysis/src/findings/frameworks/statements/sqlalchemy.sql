-- SQLAlchemy 2.1.9, psycopg 3.3.9: what its ORM sent to PostgreSQL 15.

select pg_catalog.version()

select current_schema()

show transaction isolation level

show standard_conforming_strings

INSERT INTO authors (name) VALUES ($1::VARCHAR) RETURNING authors.id

INSERT INTO books (title, author_id) SELECT p0::VARCHAR, p1::INTEGER FROM (VALUES ($1::VARCHAR, $2::INTEGER, 0), ($3::VARCHAR, $4::INTEGER, 1)) AS imp_sen(p0, p1, sen_counter) ORDER BY sen_counter RETURNING books.id, books.id AS id__1

SELECT authors.id, authors.name 
FROM authors 
WHERE authors.id = $1::INTEGER

SELECT books.id, books.title, books.author_id 
FROM books 
WHERE $1::INTEGER = books.author_id

SELECT books.id, books.title, books.author_id 
FROM books 
WHERE books.title != $1::VARCHAR

SELECT books.id, books.title, books.author_id, authors_1.id AS id_1, authors_1.name 
FROM books LEFT OUTER JOIN authors AS authors_1 ON authors_1.id = books.author_id

SELECT authors.id, authors.name 
FROM authors

SELECT books.author_id, books.id, books.title 
FROM books 
WHERE books.author_id IN ($1::INTEGER)

SELECT authors.id, authors.name 
FROM authors 
 LIMIT $1::INTEGER

SELECT books.id AS books_id, books.title AS books_title, books.author_id AS books_author_id, anon_1.authors_id AS anon_1_authors_id 
FROM (SELECT authors.id AS authors_id 
FROM authors 
 LIMIT $1::INTEGER) AS anon_1 JOIN books ON anon_1.authors_id = books.author_id

SELECT authors.name, count(books.id) AS count_1 
FROM authors JOIN books ON authors.id = books.author_id GROUP BY authors.name 
 LIMIT $1::INTEGER

SELECT count(*) AS count_1 
FROM books

UPDATE books SET title=$1::VARCHAR WHERE books.id = $2::INTEGER

SELECT books.id, books.title, books.author_id 
FROM books 
WHERE books.id = $1::INTEGER

DELETE FROM books WHERE books.id = $1::INTEGER

SELECT books.id AS books_id, books.title AS books_title, books.author_id AS books_author_id 
FROM books 
WHERE books.title = $1::VARCHAR 
 LIMIT $2::INTEGER
