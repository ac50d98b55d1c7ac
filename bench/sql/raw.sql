-- name: make_raw
-- The floor's only table.
create table raw_event (id bigserial primary key, kind text not null, payload jsonb not null);

-- name: seed_raw
-- As many rows as the others have streams.
insert into raw_event (kind, payload)
select %(kind)s::text, %(body)s::jsonb from generate_series(1, %(count)s::integer);

-- name: insert_raw
-- One row, nothing else.
insert into raw_event (kind, payload) values (%s, %s::jsonb);

-- name: count_raw
-- How many rows are there.
select count(*) from raw_event;

-- name: tail_raw
-- What a reader finds who believes that ids are committed in order.
select id from raw_event where id > %s order by id limit %s;
