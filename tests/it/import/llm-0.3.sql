-- The database of llm 0.3.
PRAGMA foreign_keys = OFF;
BEGIN TRANSACTION;
CREATE TABLE [log] (
   [provider] TEXT,
   [system] TEXT,
   [prompt] TEXT,
   [response] TEXT,
   [model] TEXT,
   [timestamp] TEXT
);
INSERT INTO "log" VALUES('chatgpt',NULL,'When do owls hunt?','Owls hunt at night.','gpt-3.5-turbo','2026-11-24 22:05:19.113379');
COMMIT;
