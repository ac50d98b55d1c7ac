-- Who may do what with documents. The roles of their sources are made when the domain is registered; a function that
-- one source alone may call checks that source itself.

revoke execute on function
    foja.is_hash, foja.stage_rank, foja.is_confirmed, foja.missing_evidence, foja.check_live, foja.check_witness, foja.evidence_problem,
    foja.find_request, foja.check_growth, foja.track_request, foja.check_retry, foja.job_of,
    foja.attempt_number, foja.is_required, foja.supersede_attempts, foja.artifact_problem,
    foja.evidence_asked, foja.check_turn, foja.track_attempt, foja.open_attempts, foja.check_network, foja.find_attempt, foja.end_attempt,
    foja.track_confirmation, foja.track_failure, foja.track_submission, foja.track_attempt_end, foja.track_finalization, foja.plan_renewals, foja.track_together, foja.admit_documents, foja.request_documents, foja.add_documents, foja.finalize_documents, foja.confirm_timestamps, foja.confirm_each, foja.document_at, foja.is_each_once, foja.signature_problem, foja.is_rendition, foja.check_signed, foja.track_lifecycle,
    foja.track_documents, foja.track_document, foja.apply_document_event, foja.as_uuid, foja.check_predecessor, foja.tracked, foja.rebuild_document, foja.lost_attempts, foja.queue_lost_attempts, foja.rebuild_documents, foja.check_ability, foja.timeout_kind, foja.timeout_payload, foja.expire_attempts, foja.wake_stalled,
    foja.forget_document, foja.is_given_up, foja.write_summaries, foja.rebuild_summaries, foja.envelope, foja.envelope_problem, public.append_document_entity_event
    from public;

grant select on foja.ability, foja.document, foja.attempt, foja.document_summary, public.document_entities
    to foja_worker, service_role, foja_api, foja_reader;
grant select on foja.ability, foja.document, foja.document_summary, public.document_entities to authenticated;
grant execute on function foja.envelope to foja_worker, authenticated, service_role, foja_api, foja_reader;
grant execute on function public.append_document_entity_event to foja_worker, service_role, foja_api, foja_sweeper;
grant execute on function foja.expire_attempts, foja.wake_stalled to foja_sweeper;
grant execute on function foja.job_of, foja.is_given_up to foja_worker, service_role, foja_api, foja_reader;
grant execute on function foja.lost_attempts to foja_worker, service_role, foja_reader;
grant execute on function foja.write_summaries, foja.rebuild_summaries, foja.rebuild_documents, foja.queue_lost_attempts to foja_worker;

alter table foja.document enable row level security, force row level security;
create policy owner_works on foja.document to current_user using (true) with check (true);
create policy installation_reads on foja.document for select to foja_worker, service_role, foja_reader using (true);
create policy tenant_reads on foja.document for select to foja_api, authenticated
    using (tenant = (select nullif(current_setting('foja.tenant', true), '')));

alter table foja.attempt enable row level security, force row level security;
create policy owner_works on foja.attempt to current_user using (true) with check (true);
create policy installation_reads on foja.attempt for select to foja_worker, service_role, foja_reader using (true);
create policy tenant_reads on foja.attempt for select to foja_api
    using (tenant = (select nullif(current_setting('foja.tenant', true), '')));

alter table foja.document_summary enable row level security, force row level security;
create policy owner_works on foja.document_summary to current_user using (true) with check (true);
create policy installation_reads on foja.document_summary for select to foja_worker, service_role, foja_reader using (true);
create policy tenant_reads on foja.document_summary for select to foja_api, authenticated
    using (tenant = (select nullif(current_setting('foja.tenant', true), '')));

-- Documents that were written before this step.
select foja.rebuild_document(e.entity_id) from foja.entity e where e.domain = 'document';
