-- A job type and a role per source; nothing is granted by default.

do $$
declare
    name text;
begin
    foreach name in array array['foja_protect_document_v2', 'foja_run_tsa', 'foja_submit_anchor_polygon',
        'foja_submit_anchor_bitcoin', 'foja_submit_anchor_rekor', 'foja_process_polygon_anchors',
        'foja_process_bitcoin_anchors', 'foja_build_artifact'] loop
        begin
            execute format('create role %I nologin', name);
        exception when duplicate_object or unique_violation then
            null;  -- roles belong to the whole server; another database created it
        end;
        begin
            execute format('grant foja_worker to %I', name);
        exception when unique_violation then
            null;  -- granted at the same moment, for another database
        end;
    end loop;
end $$;

insert into foja.job_type (type, source, lease, max_tries, level) values
    ('protect_document_v2', 'protect-document-v2', '30 seconds', 10, true),
    ('run_tsa', 'run-tsa', '60 seconds', 5, false),
    ('submit_anchor_polygon', 'submit-anchor-polygon', '60 seconds', 5, false),
    ('submit_anchor_bitcoin', 'submit-anchor-bitcoin', '60 seconds', 5, false),
    ('submit_anchor_rekor', 'submit-anchor-rekor', '60 seconds', 5, false),
    ('build_artifact', 'build-artifact', '60 seconds', 5, false),
    ('renew_artifacts', 'build-artifact', '5 minutes', 5, false);

update foja.domain set executor = 'protect_document_v2' where domain = 'document';

revoke execute on function
    foja.is_hash, foja.stage_rank, foja.is_confirmed, foja.missing_evidence, foja.check_live, foja.evidence_problem,
    foja.find_request, foja.check_growth, foja.track_request, foja.check_retry, foja.attempt_key, foja.job_of,
    foja.attempt_number, foja.is_required, foja.not_required, foja.supersede_attempts, foja.artifact_problem,
    foja.evidence_asked, foja.check_turn, foja.track_attempt, foja.check_network, foja.find_attempt, foja.end_attempt,
    foja.track_confirmation, foja.track_failure, foja.track_submission, foja.track_attempt_end, foja.track_finalization, foja.track_lifecycle,
    foja.track_document, foja.apply_document_event, foja.as_uuid, foja.check_predecessor, foja.tracked, foja.rebuild_document, foja.rebuild_documents, foja.check_ability, foja.timeout_kind, foja.timeout_payload, foja.expire_attempts,
    foja.write_summaries, foja.rebuild_summaries, foja.envelope, foja.envelope_problem, public.append_document_entity_event
    from public;

grant select on foja.ability, foja.document, foja.attempt, foja.document_summary, public.document_entities
    to foja_worker, service_role, foja_api, foja_sweeper;
grant select on foja.ability, foja.document, foja.document_summary, public.document_entities to authenticated;
grant execute on function foja.envelope to foja_worker, authenticated, service_role, foja_api, foja_sweeper;
grant execute on function public.append_document_entity_event to foja_worker, service_role, foja_api, foja_sweeper;
grant execute on function foja.expire_attempts to foja_sweeper;
grant execute on function foja.attempt_key, foja.job_of to foja_worker, service_role, foja_api, foja_sweeper;
grant execute on function foja.write_summaries, foja.rebuild_summaries, foja.rebuild_documents to foja_protect_document_v2;

alter table foja.document enable row level security;
alter table foja.attempt enable row level security;
alter table foja.document_summary enable row level security;

create policy installation_reads on foja.document for select
    to foja_worker, service_role, foja_api, foja_sweeper using (true);
create policy installation_reads on foja.attempt for select
    to foja_worker, service_role, foja_api, foja_sweeper using (true);
create policy installation_reads on foja.document_summary for select
    to foja_worker, service_role, foja_api, foja_sweeper using (true);
create policy tenant_reads on foja.document for select to authenticated
    using (tenant = nullif(current_setting('foja.tenant', true), ''));
create policy tenant_reads on foja.document_summary for select to authenticated
    using (tenant = nullif(current_setting('foja.tenant', true), ''));

-- Documents that were written before this step.
select foja.rebuild_document(e.entity_id) from foja.entity e where e.domain = 'document';
select foja.wake_domain('document');
