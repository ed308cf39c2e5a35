-- The database of llm 0.19.
PRAGMA foreign_keys = OFF;
BEGIN TRANSACTION;
CREATE TABLE [_llm_migrations] (
   [name] TEXT PRIMARY KEY,
   [applied_at] TEXT
);
INSERT INTO "_llm_migrations" VALUES('m001_initial','2026-11-24 22:03:16.515925');
INSERT INTO "_llm_migrations" VALUES('m002_id_primary_key','2026-11-24 22:03:16.582934');
INSERT INTO "_llm_migrations" VALUES('m003_chat_id_foreign_key','2026-11-24 22:03:16.697745');
INSERT INTO "_llm_migrations" VALUES('m004_column_order','2026-11-24 22:03:16.761002');
INSERT INTO "_llm_migrations" VALUES('m004_drop_provider','2026-11-24 22:03:16.823876');
INSERT INTO "_llm_migrations" VALUES('m005_debug','2026-11-24 22:03:16.879899');
INSERT INTO "_llm_migrations" VALUES('m006_new_logs_table','2026-11-24 22:03:17.010891');
INSERT INTO "_llm_migrations" VALUES('m007_finish_logs_table','2026-11-24 22:03:17.091839');
INSERT INTO "_llm_migrations" VALUES('m008_reply_to_id_foreign_key','2026-11-24 22:03:17.184286');
INSERT INTO "_llm_migrations" VALUES('m008_fix_column_order_in_logs','2026-11-24 22:03:17.235783');
INSERT INTO "_llm_migrations" VALUES('m009_delete_logs_table_if_empty','2026-11-24 22:03:17.259873');
INSERT INTO "_llm_migrations" VALUES('m010_create_new_log_tables','2026-11-24 22:03:17.303956');
INSERT INTO "_llm_migrations" VALUES('m012_attachments_tables','2026-11-24 22:03:17.419818');
INSERT INTO "_llm_migrations" VALUES('m013_usage','2026-11-24 22:03:17.477962');
CREATE TABLE [attachments] (
   [id] TEXT PRIMARY KEY,
   [type] TEXT,
   [path] TEXT,
   [url] TEXT,
   [content] BLOB
);
CREATE TABLE [conversations] (
   [id] TEXT PRIMARY KEY,
   [name] TEXT,
   [model] TEXT
);
INSERT INTO "conversations" VALUES('01m87sbbkkhgbf773c3r5yfpr5','When do owls hunt?','fake');
CREATE TABLE [prompt_attachments] (
   [response_id] TEXT REFERENCES [responses]([id]),
   [attachment_id] TEXT REFERENCES [attachments]([id]),
   [order] INTEGER,
   PRIMARY KEY ([response_id], [attachment_id])
);
CREATE TABLE [responses] (
   [id] TEXT PRIMARY KEY,
   [model] TEXT,
   [prompt] TEXT,
   [system] TEXT,
   [prompt_json] TEXT,
   [options_json] TEXT,
   [response] TEXT,
   [response_json] TEXT,
   [conversation_id] TEXT REFERENCES [conversations]([id]),
   [duration_ms] INTEGER,
   [datetime_utc] TEXT
, [input_tokens] INTEGER, [output_tokens] INTEGER, [token_details] TEXT);
INSERT INTO "responses" VALUES('01m87sbbm2hffza6zz13n15ds7','fake','When do owls hunt?',NULL,'{"messages": [{"role": "user", "content": "When do owls hunt?"}]}','{}','Owls hunt at night.','{"id": "c1", "choices": [{"finish_reason": "stop", "index": 0, "message": {"content": "Owls hunt at night.", "role": "assistant"}}], "created": 1700000000, "model": "gpt-5", "object": "chat.completion", "usage": {"completion_tokens": 1, "prompt_tokens": 1, "total_tokens": 2}}','01m87sbbkkhgbf773c3r5yfpr5',176,'2026-11-24T22:03:16.313753',1,1,NULL);
INSERT INTO "responses" VALUES('01m87sbdw8wz7g3t3s7h3f91tw','fake','And eagles?',NULL,'{"messages": [{"role": "user", "content": "When do owls hunt?"}, {"role": "assistant", "content": "Owls hunt at night."}, {"role": "user", "content": "And eagles?"}]}','{}','Owls hunt at night.','{"id": "c1", "choices": [{"finish_reason": "stop", "index": 0, "message": {"content": "Owls hunt at night.", "role": "assistant"}}], "created": 1700000000, "model": "gpt-5", "object": "chat.completion", "usage": {"completion_tokens": 1, "prompt_tokens": 1, "total_tokens": 2}}','01m87sbbkkhgbf773c3r5yfpr5',248,'2026-11-24T22:03:19.557837',1,1,NULL);
COMMIT;
