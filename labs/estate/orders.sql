CREATE TABLE stock (product int PRIMARY KEY, amount int);
CREATE TABLE purchase (id int PRIMARY KEY AUTO_INCREMENT, product int);
INSERT INTO stock SELECT seq, seq * 3 FROM seq_1_to_20;
INSERT INTO purchase (product) SELECT 1 + seq % 20 FROM seq_1_to_500;
