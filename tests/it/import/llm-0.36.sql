-- The database of llm 0.36.
PRAGMA foreign_keys = OFF;
BEGIN TRANSACTION;
CREATE TABLE "_llm_migrations" (
   "name" TEXT PRIMARY KEY,
   "applied_at" TEXT
);
INSERT INTO "_llm_migrations" VALUES('m001_initial','2026-11-24 21:36:11.739813+00:00');
INSERT INTO "_llm_migrations" VALUES('m002_id_primary_key','2026-11-24 21:36:11.769395+00:00');
INSERT INTO "_llm_migrations" VALUES('m003_chat_id_foreign_key','2026-11-24 21:36:11.880001+00:00');
INSERT INTO "_llm_migrations" VALUES('m004_column_order','2026-11-24 21:36:11.931882+00:00');
INSERT INTO "_llm_migrations" VALUES('m004_drop_provider','2026-11-24 21:36:11.971830+00:00');
INSERT INTO "_llm_migrations" VALUES('m005_debug','2026-11-24 21:36:12.031884+00:00');
INSERT INTO "_llm_migrations" VALUES('m006_new_logs_table','2026-11-24 21:36:12.191951+00:00');
INSERT INTO "_llm_migrations" VALUES('m007_finish_logs_table','2026-11-24 21:36:12.251962+00:00');
INSERT INTO "_llm_migrations" VALUES('m008_reply_to_id_foreign_key','2026-11-24 21:36:12.327240+00:00');
INSERT INTO "_llm_migrations" VALUES('m008_fix_column_order_in_logs','2026-11-24 21:36:12.363852+00:00');
INSERT INTO "_llm_migrations" VALUES('m009_delete_logs_table_if_empty','2026-11-24 21:36:12.388354+00:00');
INSERT INTO "_llm_migrations" VALUES('m010_create_new_log_tables','2026-11-24 21:36:12.403734+00:00');
INSERT INTO "_llm_migrations" VALUES('m012_attachments_tables','2026-11-24 21:36:12.504986+00:00');
INSERT INTO "_llm_migrations" VALUES('m013_usage','2026-11-24 21:36:12.579912+00:00');
INSERT INTO "_llm_migrations" VALUES('m014_schemas','2026-11-24 21:36:12.755943+00:00');
INSERT INTO "_llm_migrations" VALUES('m015_fragments_tables','2026-11-24 21:36:12.840188+00:00');
INSERT INTO "_llm_migrations" VALUES('m016_fragments_table_pks','2026-11-24 21:36:12.895947+00:00');
INSERT INTO "_llm_migrations" VALUES('m017_tools_tables','2026-11-24 21:36:12.987801+00:00');
INSERT INTO "_llm_migrations" VALUES('m017_tools_plugin','2026-11-24 21:36:13.027910+00:00');
INSERT INTO "_llm_migrations" VALUES('m018_tool_instances','2026-11-24 21:36:13.123661+00:00');
INSERT INTO "_llm_migrations" VALUES('m019_resolved_model','2026-11-24 21:36:13.167943+00:00');
INSERT INTO "_llm_migrations" VALUES('m020_tool_results_attachments','2026-11-24 21:36:13.191820+00:00');
INSERT INTO "_llm_migrations" VALUES('m021_tool_results_exception','2026-11-24 21:36:13.219913+00:00');
INSERT INTO "_llm_migrations" VALUES('m022_response_reasoning','2026-11-24 21:36:13.251915+00:00');
INSERT INTO "_llm_migrations" VALUES('m023_message_store','2026-11-24 21:36:13.619884+00:00');
INSERT INTO "_llm_migrations" VALUES('m024_tool_instance_references','2026-11-24 21:36:13.756366+00:00');
INSERT INTO "_llm_migrations" VALUES('m025_turn_tools_instance_backfill','2026-11-24 21:36:13.772874+00:00');
INSERT INTO "_llm_migrations" VALUES('m026_message_tree_view','2026-11-24 21:36:13.798644+00:00');
INSERT INTO "_llm_migrations" VALUES('m027_turns_response_json','2026-11-24 21:36:13.828180+00:00');
CREATE TABLE "attachments" (
   "id" TEXT PRIMARY KEY,
   "type" TEXT,
   "path" TEXT,
   "url" TEXT,
   "content" BLOB
);
CREATE TABLE "conversations" (
   "id" TEXT PRIMARY KEY,
   "name" TEXT,
   "model" TEXT
);
CREATE TABLE "fragment_aliases" (
   "alias" TEXT PRIMARY KEY,
   "fragment_id" INTEGER REFERENCES "fragments"("id")
);
CREATE TABLE "fragments" (
   "id" INTEGER PRIMARY KEY,
   "hash" TEXT,
   "content" TEXT,
   "datetime_utc" TEXT,
   "source" TEXT
);
CREATE TABLE "messages" (
   "hash" TEXT PRIMARY KEY,
   "parent_hash" TEXT REFERENCES "messages"("hash"),
   "role" TEXT,
   "provider_metadata" TEXT
);
INSERT INTO "messages" VALUES('b2:74946ab8fe7c7ee5032e723178f22395',NULL,'system',NULL);
INSERT INTO "messages" VALUES('b2:f3201b31b95fbfb61c5ec5b7e02fee54','b2:74946ab8fe7c7ee5032e723178f22395','user',NULL);
INSERT INTO "messages" VALUES('b2:6a7d9a2d58d703cb50edddcd8c6103b0','b2:f3201b31b95fbfb61c5ec5b7e02fee54','assistant',NULL);
INSERT INTO "messages" VALUES('b2:35241dd275e1c4c58b5255f6322fae32','b2:6a7d9a2d58d703cb50edddcd8c6103b0','user',NULL);
INSERT INTO "messages" VALUES('b2:864bf8f95e3e47d1e03d0315849942b8','b2:35241dd275e1c4c58b5255f6322fae32','assistant',NULL);
CREATE TABLE "part_attachments" (
   "part_id" INTEGER REFERENCES "parts"("id"),
   "attachment_id" TEXT REFERENCES "attachments"("id"),
   "order" INTEGER,
   PRIMARY KEY ("part_id", "attachment_id", "order")
);
CREATE TABLE "part_fragments" (
   "part_id" INTEGER REFERENCES "parts"("id"),
   "fragment_id" INTEGER REFERENCES "fragments"("id"),
   "order" INTEGER,
   PRIMARY KEY ("part_id", "fragment_id", "order")
);
CREATE TABLE "parts" (
   "id" INTEGER PRIMARY KEY,
   "message_hash" TEXT REFERENCES "messages"("hash"),
   "position" INTEGER,
   "type" TEXT,
   "tool_name" TEXT,
   "text" TEXT,
   "payload" TEXT
);
INSERT INTO "parts" VALUES(1,'b2:74946ab8fe7c7ee5032e723178f22395',0,'text',NULL,'Be short',NULL);
INSERT INTO "parts" VALUES(2,'b2:f3201b31b95fbfb61c5ec5b7e02fee54',0,'text',NULL,'When do owls hunt?',NULL);
INSERT INTO "parts" VALUES(3,'b2:6a7d9a2d58d703cb50edddcd8c6103b0',0,'text',NULL,'Owls hunt at night.',NULL);
INSERT INTO "parts" VALUES(4,'b2:35241dd275e1c4c58b5255f6322fae32',0,'text',NULL,'And eagles?',NULL);
INSERT INTO "parts" VALUES(5,'b2:864bf8f95e3e47d1e03d0315849942b8',0,'text',NULL,'Owls hunt at night.',NULL);
CREATE TABLE "prompt_attachments" (
   "response_id" TEXT REFERENCES "responses"("id"),
   "attachment_id" TEXT REFERENCES "attachments"("id"),
   "order" INTEGER,
   PRIMARY KEY ("response_id", "attachment_id")
);
CREATE TABLE "prompt_fragments" (
   "response_id" TEXT REFERENCES "responses"("id"),
   "fragment_id" INTEGER REFERENCES "fragments"("id"),
   "order" INTEGER,
   PRIMARY KEY ("response_id", "fragment_id", "order")
);
CREATE TABLE "responses" (
   "id" TEXT PRIMARY KEY,
   "model" TEXT,
   "prompt" TEXT,
   "system" TEXT,
   "prompt_json" TEXT,
   "options_json" TEXT,
   "response" TEXT,
   "response_json" TEXT,
   "conversation_id" TEXT REFERENCES "conversations"("id"),
   "duration_ms" INTEGER,
   "datetime_utc" TEXT,
   "input_tokens" INTEGER,
   "output_tokens" INTEGER,
   "token_details" TEXT,
   "schema_id" TEXT REFERENCES "schemas"("id")
, "resolved_model" TEXT, "reasoning" TEXT);
CREATE TABLE "schemas" (
   "id" TEXT PRIMARY KEY,
   "content" TEXT
);
CREATE TABLE "system_fragments" (
   "response_id" TEXT REFERENCES "responses"("id"),
   "fragment_id" INTEGER REFERENCES "fragments"("id"),
   "order" INTEGER,
   PRIMARY KEY ("response_id", "fragment_id", "order")
);
CREATE TABLE "threads" (
   "id" TEXT PRIMARY KEY,
   "name" TEXT,
   "tip_message_hash" TEXT REFERENCES "messages"("hash"),
   "forked_from" TEXT REFERENCES "threads"("id"),
   "datetime_utc" TEXT
);
INSERT INTO "threads" VALUES('01m87qst13hdm9qwcvc60zp8d3','When do owls hunt?','b2:864bf8f95e3e47d1e03d0315849942b8',NULL,'2026-11-24 21:36:13.989243+00:00');
CREATE TABLE "tool_calls" (
   "id" INTEGER PRIMARY KEY,
   "response_id" TEXT REFERENCES "responses"("id"),
   "tool_id" INTEGER REFERENCES "tools"("id"),
   "name" TEXT,
   "arguments" TEXT,
   "tool_call_id" TEXT
);
CREATE TABLE "tool_instances" (
   "id" INTEGER PRIMARY KEY,
   "plugin" TEXT,
   "name" TEXT,
   "arguments" TEXT
);
CREATE TABLE "tool_instantiations" (
   "turn_id" TEXT REFERENCES "turns"("id"),
   "tool_call_id" TEXT,
   "instance_id" INTEGER REFERENCES "tool_instances"("id"),
   PRIMARY KEY ("turn_id", "tool_call_id")
);
CREATE TABLE "tool_responses" (
   "tool_id" INTEGER REFERENCES "tools"("id"),
   "response_id" TEXT REFERENCES "responses"("id"),
   PRIMARY KEY ("tool_id", "response_id")
);
CREATE TABLE "tool_results" (
   "id" INTEGER PRIMARY KEY,
   "response_id" TEXT REFERENCES "responses"("id"),
   "tool_id" INTEGER REFERENCES "tools"("id"),
   "name" TEXT,
   "output" TEXT,
   "tool_call_id" TEXT,
   "instance_id" INTEGER REFERENCES "tool_instances"("id")
, "exception" TEXT);
CREATE TABLE "tool_results_attachments" (
   "tool_result_id" INTEGER REFERENCES "tool_results"("id"),
   "attachment_id" TEXT REFERENCES "attachments"("id"),
   "order" INTEGER,
   PRIMARY KEY ("tool_result_id", "attachment_id")
);
CREATE TABLE "tools" (
   "id" INTEGER PRIMARY KEY,
   "hash" TEXT,
   "name" TEXT,
   "description" TEXT,
   "input_schema" TEXT
, "plugin" TEXT);
CREATE TABLE "turn_fragments" (
   "turn_id" TEXT REFERENCES "turns"("id"),
   "fragment_id" INTEGER REFERENCES "fragments"("id"),
   "order" INTEGER,
   "kind" TEXT,
   PRIMARY KEY ("turn_id", "fragment_id", "kind", "order")
);
CREATE TABLE "turn_search" (
   "id" INTEGER PRIMARY KEY,
   "turn_id" TEXT REFERENCES "turns"("id"),
   "prompt" TEXT,
   "response" TEXT
);
INSERT INTO "turn_search" VALUES(1,'01m87qst1983kq6zhem4etj7c0','When do owls hunt?','Owls hunt at night.');
INSERT INTO "turn_search" VALUES(2,'01m87qsvdzk4t0mhz7fp86cwez','And eagles?','Owls hunt at night.');
CREATE TABLE "turn_tools" (
   "turn_id" TEXT REFERENCES "turns"("id"),
   "tool_id" INTEGER REFERENCES "tools"("id"),
   "instance_id" INTEGER REFERENCES "tool_instances"("id"),
   PRIMARY KEY ("turn_id", "tool_id")
);
CREATE TABLE "turns" (
   "id" TEXT PRIMARY KEY,
   "thread_id" TEXT REFERENCES "threads"("id"),
   "parent_message_hash" TEXT REFERENCES "messages"("hash"),
   "tip_message_hash" TEXT REFERENCES "messages"("hash"),
   "model" TEXT,
   "resolved_model" TEXT,
   "options_json" TEXT,
   "schema_id" TEXT REFERENCES "schemas"("id"),
   "input_tokens" INTEGER,
   "output_tokens" INTEGER,
   "token_details" TEXT,
   "duration_ms" INTEGER,
   "datetime_utc" TEXT
, "response_json" TEXT);
INSERT INTO "turns" VALUES('01m87qst1983kq6zhem4etj7c0','01m87qst13hdm9qwcvc60zp8d3','b2:f3201b31b95fbfb61c5ec5b7e02fee54','b2:6a7d9a2d58d703cb50edddcd8c6103b0','fake',NULL,NULL,NULL,1,1,NULL,117,'2026-11-24T21:36:13.865852+00:00','{"content": "Owls hunt at night.", "finish_reason": "stop", "usage": {"completion_tokens": 1, "prompt_tokens": 1, "total_tokens": 2}, "id": "c1", "object": "chat.completion.chunk", "model": "gpt-5", "created": 1700000000}');
INSERT INTO "turns" VALUES('01m87qsvdzk4t0mhz7fp86cwez','01m87qst13hdm9qwcvc60zp8d3','b2:35241dd275e1c4c58b5255f6322fae32','b2:864bf8f95e3e47d1e03d0315849942b8','fake',NULL,NULL,NULL,1,1,NULL,125,'2026-11-24T21:36:15.295650+00:00','{"content": "Owls hunt at night.", "finish_reason": "stop", "usage": {"completion_tokens": 1, "prompt_tokens": 1, "total_tokens": 2}, "id": "c1", "object": "chat.completion.chunk", "model": "gpt-5", "created": 1700000000}');
COMMIT;
