-- What models/tesla/transfers.tesla asks a bank's database.
CREATE TABLE account (number INTEGER PRIMARY KEY, owner TEXT NOT NULL, day_limit REAL);
INSERT INTO account VALUES (1, 'Ada', 1000), (2, 'Ada', 500), (3, 'Bob', 2000), (4, 'Cleo', NULL);
CREATE TABLE fee (from_amount REAL, percent REAL);
INSERT INTO fee VALUES (0, 0), (100, 0.5), (1000, 0.25);
CREATE TABLE countries (name TEXT, watched BOOLEAN);
INSERT INTO countries VALUES ('Atlantis', 1), ('France', 0);
CREATE VIEW watched AS SELECT name AS country FROM countries WHERE watched;
