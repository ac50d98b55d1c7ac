-- name: count_stored_events
-- How many events are there.
select count(*) from stored_events;
