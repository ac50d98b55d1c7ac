-- name: trust_message_db
-- Set the search path: its functions name their tables without a schema.
do $$ begin
    execute format('alter database %I set search_path = message_store, public', current_database());
end $$;

-- name: write_message
-- Append one message.
select write_message(%s, %s, %s, %s::jsonb);

-- name: count_messages
-- Count the messages.
select count(*) from message_store.messages;

-- name: tail_category
-- Read one category with the function of message-db.
select global_position from get_category_messages('conversation', %s, %s);

-- name: tail_messages
-- Read all categories by the global position.
select global_position from messages where global_position >= %s order by global_position limit %s;
