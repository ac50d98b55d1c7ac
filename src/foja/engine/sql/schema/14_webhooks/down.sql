-- Back to a schema without webhooks. They and their deliveries are kept for the way up.

select foja.keep_rows('foja.webhook', 'foja.webhook_secret', 'foja.webhook_delivery', 'foja.webhook_attempt');

drop function foja.matches_kind, foja.lock_webhook, foja.record_webhook, foja.check_kinds, foja.create_webhook_v1,
    foja.change_webhook_v1, foja.switch_webhook_v1, foja.rotate_webhook_v1, foja.remove_webhook_v1, foja.replay_deliveries_v1,
    foja.batch_deliveries, foja.plan_deliveries_v1, foja.open_deliveries_v1, foja.record_attempts_v1, foja.forget_deliveries_v1,
    foja.lost_deliveries, foja.queue_lost_deliveries_v1;
drop table foja.webhook_attempt, foja.webhook_delivery, foja.webhook_secret, foja.webhook;
