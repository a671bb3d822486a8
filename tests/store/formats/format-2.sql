PRAGMA journal_mode = WAL;
BEGIN TRANSACTION;
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
INSERT INTO meta VALUES ('format', '2');
INSERT INTO meta VALUES ('program', 'uat-sandbox');
INSERT INTO meta VALUES ('version', '0.1.0');
CREATE TABLE documents (
    place INTEGER PRIMARY KEY,
    world TEXT NOT NULL,
    tbl TEXT NOT NULL,
    id TEXT NOT NULL,
    number TEXT NOT NULL,
    text TEXT NOT NULL,
    claims TEXT NOT NULL,
    digest INTEGER
);
INSERT INTO documents VALUES (1, 'demo', 'accounts', 'b', '2199023255552000000000000000', '{"name":"later","amount":100}', '', NULL);
INSERT INTO documents VALUES (2, 'demo', 'accounts', 'a', '1', '{"name":"Café \"Zum Hirschen\"","address":{"lines":["Gasse 1","Wien"]}}', '[["name","x"]]', NULL);
INSERT INTO documents VALUES (5, 'other-1', 'accounts', 'a', '1', '{"name":"of another world"}', '', NULL);
CREATE TABLE records (
    world TEXT NOT NULL,
    id TEXT NOT NULL,
    number TEXT NOT NULL,
    text TEXT NOT NULL,
    claims TEXT NOT NULL,
    digest INTEGER,
    UNIQUE (world, id)
);
INSERT INTO records VALUES ('demo', 'm', '3', '{"said":"once"}', '', NULL);
COMMIT;
