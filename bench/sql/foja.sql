-- name: want_executor
-- Whatever a conversation says wakes its executor from now on.
update foja.kind set wakes = true where domain = 'conversation';

-- name: forget_wakeups
-- What an executor does when it has looked.
delete from foja.wakeup;

-- name: count_events
-- How many events are there.
select count(*) from foja.event;

-- name: places
-- Every event's place in its stream.
select entity_id, seq from foja.event;

-- name: count_wakeups
-- How many streams wait for their executor.
select count(*) from foja.wakeup;
