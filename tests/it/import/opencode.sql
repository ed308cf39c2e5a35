-- The tables of the database of opencode 1.18.33 that hold sessions.
CREATE TABLE `project` (
          `id` text PRIMARY KEY,
          `worktree` text NOT NULL,
          `vcs` text,
          `name` text,
          `icon_url` text,
          `icon_url_override` text,
          `icon_color` text,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          `time_initialized` integer,
          `sandboxes` text NOT NULL,
          `commands` text
        );
INSERT INTO `project` VALUES('7f041ed4c19e3091ac32994c9ea891b3e7d41be5','/home/ada/owls','git',NULL,NULL,NULL,NULL,1795556154001,1795557840349,NULL,'[]',NULL);
CREATE TABLE `session` (
          `id` text PRIMARY KEY,
          `project_id` text NOT NULL,
          `workspace_id` text,
          `parent_id` text,
          `slug` text NOT NULL,
          `directory` text NOT NULL,
          `path` text,
          `title` text NOT NULL,
          `version` text NOT NULL,
          `share_url` text,
          `summary_additions` integer,
          `summary_deletions` integer,
          `summary_files` integer,
          `summary_diffs` text,
          `metadata` text,
          `cost` real DEFAULT 0 NOT NULL,
          `tokens_input` integer DEFAULT 0 NOT NULL,
          `tokens_output` integer DEFAULT 0 NOT NULL,
          `tokens_reasoning` integer DEFAULT 0 NOT NULL,
          `tokens_cache_read` integer DEFAULT 0 NOT NULL,
          `tokens_cache_write` integer DEFAULT 0 NOT NULL,
          `revert` text,
          `permission` text,
          `agent` text,
          `model` text,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          `time_compacting` integer,
          `time_archived` integer,
          CONSTRAINT `fk_session_project_id_project_id_fk` FOREIGN KEY (`project_id`) REFERENCES `project`(`id`) ON DELETE CASCADE
        );
INSERT INTO `session` VALUES('ses_df0836106ffeGPVc0b55w0zN7t','7f041ed4c19e3091ac32994c9ea891b3e7d41be5',NULL,NULL,'crisp-wolf','/home/ada/owls','','Owls hunt at night.','1.18.33',NULL,0,0,0,NULL,NULL,0.0,1,1,0,0,0,NULL,'[{"permission":"question","pattern":"*","action":"deny"},{"permission":"plan_enter","pattern":"*","action":"deny"},{"permission":"plan_exit","pattern":"*","action":"deny"}]','build','{"id":"gpt-5","providerID":"fake","variant":"default"}',1795556155129,1795556164081,NULL,NULL);
CREATE TABLE `message` (
          `id` text PRIMARY KEY,
          `session_id` text NOT NULL,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          `data` text NOT NULL,
          CONSTRAINT `fk_message_session_id_session_id_fk` FOREIGN KEY (`session_id`) REFERENCES `session`(`id`) ON DELETE CASCADE
        );
INSERT INTO `message` VALUES('msg_20f7ca1c2001LqMeDs1Cr1lfsO','ses_df0836106ffeGPVc0b55w0zN7t',1795556155842,1795556160423,'{"role":"user","time":{"created":1795556155842},"agent":"build","model":{"providerID":"fake","modelID":"gpt-5"},"summary":{"diffs":[]}}');
INSERT INTO `message` VALUES('msg_20f7cae62001lJOKajDHp5n3hC','ses_df0836106ffeGPVc0b55w0zN7t',1795556159075,1795556164048,'{"parentID":"msg_20f7ca1c2001LqMeDs1Cr1lfsO","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/ada/owls","root":"/home/ada/owls"},"cost":0,"tokens":{"total":2,"input":1,"output":1,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"gpt-5","providerID":"fake","time":{"created":1795556159075,"completed":1795556164046},"finish":"stop"}');
CREATE TABLE `part` (
          `id` text PRIMARY KEY,
          `message_id` text NOT NULL,
          `session_id` text NOT NULL,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          `data` text NOT NULL,
          CONSTRAINT `fk_part_message_id_message_id_fk` FOREIGN KEY (`message_id`) REFERENCES `message`(`id`) ON DELETE CASCADE
        );
INSERT INTO `part` VALUES('prt_20f7ca1d4001xf8oHqGAcfqqRO','msg_20f7ca1c2001LqMeDs1Cr1lfsO','ses_df0836106ffeGPVc0b55w0zN7t',1795556159027,1795556159030,'{"type":"text","text":"\"When do owls hunt?\""}');
INSERT INTO `part` VALUES('prt_20f7cbe84001yHc0XbYyoBJHTk','msg_20f7cae62001lJOKajDHp5n3hC','ses_df0836106ffeGPVc0b55w0zN7t',1795556163204,1795556163207,'{"snapshot":"49bce38a2dac2eb1cf94b16d1fc4d4f28a3f8034","type":"step-start"}');
INSERT INTO `part` VALUES('prt_20f7cbe89001gsDXPvwhAbZIXT','msg_20f7cae62001lJOKajDHp5n3hC','ses_df0836106ffeGPVc0b55w0zN7t',1795556163209,1795556163218,'{"type":"text","text":"Owls hunt at night.","time":{"start":1795556163209,"end":1795556163214}}');
INSERT INTO `part` VALUES('prt_20f7cbf92001K5auUXyjs7Akpd','msg_20f7cae62001lJOKajDHp5n3hC','ses_df0836106ffeGPVc0b55w0zN7t',1795556163474,1795556163480,'{"reason":"stop","snapshot":"49bce38a2dac2eb1cf94b16d1fc4d4f28a3f8034","type":"step-finish","tokens":{"total":2,"input":1,"output":1,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
