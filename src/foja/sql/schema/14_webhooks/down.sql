-- Back to a schema without webhooks. What was delivered stays delivered; the events of their changes stay.

-- Domains are registered at the newest step only. Kinds and domains that streams were written with stay; their jobs go,
-- since no process could do them.
update foja.kind set tracked = false, wakes = false where tracked or wakes;
update foja.domain set executor = null where executor is not null;
update foja.entity set awake = null where awake is not null;
delete from foja.woken;
delete from foja.tick;
delete from foja.job;
delete from foja.job_type;
delete from foja.source;
delete from foja.kind k where not exists (select from foja.entity e where e.domain = k.domain);
delete from foja.domain d where not d.reserved and not exists (select from foja.entity e where e.domain = d.domain);

drop function foja.matches_kind, foja.lock_webhook, foja.record_webhook, foja.check_kinds, foja.create_webhook_v1,
    foja.change_webhook_v1, foja.switch_webhook_v1, foja.rotate_webhook_v1, foja.remove_webhook_v1, foja.replay_deliveries_v1,
    foja.batch_deliveries, foja.plan_deliveries_v1, foja.open_deliveries_v1, foja.record_attempts_v1, foja.forget_deliveries_v1;
drop table foja.webhook_attempt, foja.webhook_delivery, foja.webhook_secret, foja.webhook;
