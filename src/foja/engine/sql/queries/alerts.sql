-- name: alert_round
-- The number of the last evaluation, when it was, and the time now.
select version, evaluated_at, clock_timestamp() as now from foja.alert_round;

-- name: alert_states
-- Alerts whose condition is true.
select alert, label, value, since, fired_at from foja.alert_state order by alert, label;

-- name: alerts_firing
-- How many series of each alert fire.
select alert, count(*) from foja.alert_state where fired_at is not null group by alert;

-- name: record_alerts
-- Record an evaluation, unless another one came between.
select foja.record_alerts_v1(%(version)s, %(states)s::jsonb, %(notices)s::jsonb);

-- name: due_notices
-- Notices that did not reach every channel and are to be tried now, oldest first. None waits for more than an hour,
-- unless its time is of a clock that was ahead.
select notice_id as id, alert, label, event, value, at, channels, tries from foja.alert_notice
where channels <> '{}' and next_try not between clock_timestamp() and clock_timestamp() + interval '65 minutes' order by at, notice_id limit %(limit)s;

-- name: waiting_notices
-- Notices that a channel did not take so far, oldest first.
select notice_id as id, alert, label, event, value, at, array[%(channel)s::text] as channels, tries from foja.alert_notice
where channels @> array[%(channel)s::text] and last_error is not null order by at, notice_id limit %(limit)s;

-- name: recent_notices
-- The newest notices.
select notice_id as id, alert, label, event, value, at, channels as undelivered, last_error as error from foja.alert_notice
order by at desc, notice_id limit %(limit)s;

-- name: settle_notice
-- Say that a notice reached a channel, or why it did not.
select foja.settle_notice_v1(%(notice)s, %(channel)s, %(error)s, %(pause)s);

-- name: note_balance
-- Remember what the account of a network has.
select foja.note_balance_v1(%(network)s, %(balance)s, %(price)s);
