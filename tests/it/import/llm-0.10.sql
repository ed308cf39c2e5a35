-- The database of llm 0.10.
PRAGMA foreign_keys = OFF;
BEGIN TRANSACTION;
CREATE TABLE [_llm_migrations] (
   [name] TEXT PRIMARY KEY,
   [applied_at] TEXT
);
INSERT INTO "_llm_migrations" VALUES('m001_initial','2026-11-24 22:03:12.547957');
INSERT INTO "_llm_migrations" VALUES('m002_id_primary_key','2026-11-24 22:03:12.635972');
INSERT INTO "_llm_migrations" VALUES('m003_chat_id_foreign_key','2026-11-24 22:03:12.755888');
INSERT INTO "_llm_migrations" VALUES('m004_column_order','2026-11-24 22:03:12.819916');
INSERT INTO "_llm_migrations" VALUES('m004_drop_provider','2026-11-24 22:03:12.883877');
INSERT INTO "_llm_migrations" VALUES('m005_debug','2026-11-24 22:03:12.947029');
INSERT INTO "_llm_migrations" VALUES('m006_new_logs_table','2026-11-24 22:03:13.095346');
INSERT INTO "_llm_migrations" VALUES('m007_finish_logs_table','2026-11-24 22:03:13.150427');
INSERT INTO "_llm_migrations" VALUES('m008_reply_to_id_foreign_key','2026-11-24 22:03:13.221327');
INSERT INTO "_llm_migrations" VALUES('m008_fix_column_order_in_logs','2026-11-24 22:03:13.319864');
INSERT INTO "_llm_migrations" VALUES('m009_delete_logs_table_if_empty','2026-11-24 22:03:13.355856');
INSERT INTO "_llm_migrations" VALUES('m010_create_new_log_tables','2026-11-24 22:03:13.407822');
CREATE TABLE [conversations] (
   [id] TEXT PRIMARY KEY,
   [name] TEXT,
   [model] TEXT
);
INSERT INTO "conversations" VALUES('01m87sey7ds804s2q7wgvp0ze0','When do owls hunt?','fake');
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
);
INSERT INTO "responses" VALUES('01m87sey8fkn74b0d1we5655fn','fake','When do owls hunt?',NULL,'{"messages": [{"role": "user", "content": "When do owls hunt?"}]}','{}','Owls hunt at night.','{"id": "c1", "object": "chat.completion", "created": 1700000000, "model": "gpt-5", "choices": [{"index": 0, "message": {"role": "assistant", "content": "Owls hunt at night."}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}','01m87sey7ds804s2q7wgvp0ze0',45,'2026-11-24T22:05:14.811293');
INSERT INTO "responses" VALUES('01m87sf0qgcvcsy5fm86bv3qk3','fake','And eagles?',NULL,'{"messages": [{"role": "user", "content": "When do owls hunt?"}, {"role": "assistant", "content": "Owls hunt at night."}, {"role": "user", "content": "And eagles?"}]}','{}','Owls hunt at night.','{"id": "c1", "object": "chat.completion", "created": 1700000000, "model": "gpt-5", "choices": [{"index": 0, "message": {"role": "assistant", "content": "Owls hunt at night."}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}','01m87sey7ds804s2q7wgvp0ze0',28,'2026-11-24T22:05:17.391520');
COMMIT;
