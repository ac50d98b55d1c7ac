-- Who may do what with webhooks. No role reads the secrets; the worker gets them with what it delivers.

grant execute on function
    foja.create_webhook_v1, foja.change_webhook_v1, foja.switch_webhook_v1, foja.rotate_webhook_v1, foja.remove_webhook_v1,
    foja.replay_deliveries_v1
    to service_role, foja_api;
grant execute on function foja.open_deliveries_v1, foja.record_attempts_v1 to foja_worker;
grant execute on function foja.plan_deliveries_v1, foja.forget_deliveries_v1, foja.queue_lost_deliveries_v1 to foja_sweeper;
grant execute on function foja.lost_deliveries to service_role, foja_reader;
select foja.share_rows('foja.webhook', 'foja_api', 'service_role, foja_reader');
select foja.share_rows('foja.webhook_delivery', 'foja_api', 'service_role, foja_reader');
select foja.share_rows('foja.webhook_attempt', 'foja_api', 'service_role, foja_reader');
select foja.restrict_functions();

alter table foja.webhook_secret enable row level security, force row level security;
create policy owner_works on foja.webhook_secret to current_user using (true) with check (true);
