-- name: make_raw
-- The table of the baseline.
create table raw_event (id bigserial primary key, kind text not null, payload jsonb not null);

-- name: seed_raw
-- Insert one row per stream of the other contenders.
insert into raw_event (kind, payload)
select %(kind)s::text, %(body)s::jsonb from generate_series(1, %(count)s::integer);

-- name: insert_raw
-- Insert one row.
insert into raw_event (kind, payload) values (%s, %s::jsonb);

-- name: count_raw
-- Count the rows.
select count(*) from raw_event;

-- name: tail_raw
-- Read by id, as if ids were committed in order.
select id from raw_event where id > %s order by id limit %s;
