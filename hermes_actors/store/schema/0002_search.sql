-- Full-text search. Both indexes hold no text of their own, only pointers into `messages`, so they
-- can be thrown away and rebuilt. The second one splits into three-letter pieces, which is how
-- scripts without spaces become searchable; it covers only messages that contain such a script.

CREATE VIRTUAL TABLE messages_fts USING fts5(
  content, tool_name, tool_calls,
  content = 'messages', content_rowid = 'id', tokenize = 'unicode61 remove_diacritics 2'
);

CREATE VIEW messages_unspaced AS
  SELECT id, content FROM messages
  WHERE content GLOB '*[⺀-鿿가-힣豈-﫿𠀀-𲎯]*';

CREATE VIRTUAL TABLE messages_trigram USING fts5(
  content,
  content = 'messages_unspaced', content_rowid = 'id', tokenize = 'trigram'
);

CREATE TRIGGER messages_indexed AFTER INSERT ON messages BEGIN
  INSERT INTO messages_fts(rowid, content, tool_name, tool_calls)
  VALUES (new.id, new.content, new.tool_name, new.tool_calls);
END;

CREATE TRIGGER messages_unindexed AFTER DELETE ON messages BEGIN
  INSERT INTO messages_fts(messages_fts, rowid, content, tool_name, tool_calls)
  VALUES ('delete', old.id, old.content, old.tool_name, old.tool_calls);
END;

CREATE TRIGGER messages_reindexed AFTER UPDATE OF content, tool_name, tool_calls ON messages BEGIN
  INSERT INTO messages_fts(messages_fts, rowid, content, tool_name, tool_calls)
  VALUES ('delete', old.id, old.content, old.tool_name, old.tool_calls);
  INSERT INTO messages_fts(rowid, content, tool_name, tool_calls)
  VALUES (new.id, new.content, new.tool_name, new.tool_calls);
END;

CREATE TRIGGER messages_trigram_indexed AFTER INSERT ON messages
WHEN new.content GLOB '*[⺀-鿿가-힣豈-﫿𠀀-𲎯]*' BEGIN
  INSERT INTO messages_trigram(rowid, content) VALUES (new.id, new.content);
END;

CREATE TRIGGER messages_trigram_unindexed AFTER DELETE ON messages
WHEN old.content GLOB '*[⺀-鿿가-힣豈-﫿𠀀-𲎯]*' BEGIN
  INSERT INTO messages_trigram(messages_trigram, rowid, content)
  VALUES ('delete', old.id, old.content);
END;

-- One trigger, not two: the order of two would be SQLite's choice, and the old must go first.
CREATE TRIGGER messages_trigram_reindexed AFTER UPDATE OF content ON messages BEGIN
  INSERT INTO messages_trigram(messages_trigram, rowid, content)
  SELECT 'delete', old.id, old.content
  WHERE old.content GLOB '*[⺀-鿿가-힣豈-﫿𠀀-𲎯]*';
  INSERT INTO messages_trigram(rowid, content)
  SELECT new.id, new.content
  WHERE new.content GLOB '*[⺀-鿿가-힣豈-﫿𠀀-𲎯]*';
END;
