-- name: trust_message_db
-- Its functions name their tables without a schema.
do $$ begin
    execute format('alter database %I set search_path = message_store, public', current_database());
end $$;

-- name: write_message
-- The peer's one way in.
select write_message(%s, %s, %s, %s::jsonb);

-- name: count_messages
-- How many messages are there.
select count(*) from message_store.messages;

-- name: tail_category
-- The peer's own reader of one category.
select global_position from get_category_messages('conversation', %s, %s);

-- name: tail_messages
-- A reader of all categories, by the peer's global position.
select global_position from messages where global_position >= %s order by global_position limit %s;
