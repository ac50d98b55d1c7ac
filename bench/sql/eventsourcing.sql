-- name: count_stored_events
-- Count the events.
select count(*) from stored_events;
