CREATE TABLE product (id int PRIMARY KEY, name varchar(40));
CREATE TABLE review (id int PRIMARY KEY AUTO_INCREMENT, product int, KEY (product));
INSERT INTO product SELECT seq, concat('product ', seq) FROM seq_1_to_100;
INSERT INTO review (product) SELECT 1 + seq % 100 FROM seq_1_to_2000;
