-- Who may do what with webhooks. No role reads the secrets; the worker gets them with what it delivers.

-- Also from roles that earlier steps let read all tables: a restore runs those grants again.
revoke all on foja.webhook_secret from public, service_role, foja_api, foja_reader, foja_worker;
revoke all on foja.webhook, foja.webhook_delivery, foja.webhook_attempt from public, foja_worker;
revoke execute on function
    foja.matches_kind, foja.lock_webhook, foja.record_webhook, foja.check_kinds, foja.create_webhook_v1, foja.change_webhook_v1,
    foja.switch_webhook_v1, foja.rotate_webhook_v1, foja.remove_webhook_v1, foja.replay_deliveries_v1, foja.batch_deliveries,
    foja.plan_deliveries_v1, foja.open_deliveries_v1, foja.record_attempts_v1, foja.forget_deliveries_v1,
    foja.lost_deliveries, foja.queue_lost_deliveries_v1
    from public;

grant select on foja.webhook, foja.webhook_delivery, foja.webhook_attempt to service_role, foja_api, foja_reader;
grant execute on function
    foja.create_webhook_v1, foja.change_webhook_v1, foja.switch_webhook_v1, foja.rotate_webhook_v1, foja.remove_webhook_v1,
    foja.replay_deliveries_v1
    to service_role, foja_api;
grant execute on function foja.open_deliveries_v1, foja.record_attempts_v1 to foja_worker;
grant execute on function foja.plan_deliveries_v1, foja.forget_deliveries_v1, foja.queue_lost_deliveries_v1 to foja_sweeper;
grant execute on function foja.lost_deliveries to service_role, foja_reader;

alter table foja.webhook enable row level security, force row level security;
alter table foja.webhook_secret enable row level security, force row level security;
alter table foja.webhook_delivery enable row level security, force row level security;
alter table foja.webhook_attempt enable row level security, force row level security;

create policy owner_works on foja.webhook to current_user using (true) with check (true);
create policy owner_works on foja.webhook_secret to current_user using (true) with check (true);
create policy owner_works on foja.webhook_delivery to current_user using (true) with check (true);
create policy owner_works on foja.webhook_attempt to current_user using (true) with check (true);
create policy installation_reads on foja.webhook for select to service_role, foja_reader using (true);
create policy installation_reads on foja.webhook_delivery for select to service_role, foja_reader using (true);
create policy installation_reads on foja.webhook_attempt for select to service_role, foja_reader using (true);
create policy tenant_reads on foja.webhook for select to foja_api using (tenant = (select nullif(current_setting('foja.tenant', true), '')));
create policy tenant_reads on foja.webhook_delivery for select to foja_api using (tenant = (select nullif(current_setting('foja.tenant', true), '')));
create policy tenant_reads on foja.webhook_attempt for select to foja_api using (tenant = (select nullif(current_setting('foja.tenant', true), '')));
