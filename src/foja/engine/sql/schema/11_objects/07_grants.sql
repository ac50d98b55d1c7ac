-- Who may do what with objects. A tenant reads its references: an object belongs to every tenant that refers to it.

revoke execute on function
    foja.object_path, foja.begin_object_v1, foja.finish_object_v1, foja.has_bytes, foja.may_refer, foja.refer_object, foja.refer_many, foja.release_objects, foja.end_references,
    foja.end_all_references, foja.document_objects, foja.whole_number, foja.is_outdated, foja.document_references, foja.check_transcript,
    foja.has_kept, foja.refer_objects, foja.refer_artifacts, foja.refer_documents, foja.guard_documents, foja.forget_objects, foja.insert_references, foja.rebuild_references_v1, foja.is_referred, foja.stage_orphans_v1, foja.insert_candidates,
    foja.stage_strays_v1, foja.unstage, foja.unstage_referred_v1, foja.orphan_deadline, foja.quarantine_orphans_v1,
    foja.adopt_strays, foja.begin_purge, foja.claim_orphans_v1, foja.claim_object_v1, foja.record_purge_v1, foja.restore_object_v1,
    foja.record_orphan_run_v1, foja.plan_orphan_scans_v1, foja.orphan_days
    from public;

grant select on foja.object, foja.object_upload, foja.object_reference, foja.unstaged, foja.orphan_run, foja.purge_lock, public.image_orphan_candidates,
        public.vw_image_orphan_candidates_metrics
    to foja_worker, service_role, foja_reader;
grant select on foja.object_reference to foja_api;  -- that of its tenant
-- Not those of requests and workers: who may say that a tenant has the bytes could say it of any digest.
grant execute on function foja.begin_object_v1, foja.finish_object_v1, foja.acting_tenant to foja_operator;
grant execute on function
    foja.stage_orphans_v1, foja.stage_strays_v1, foja.unstage_referred_v1, foja.quarantine_orphans_v1, foja.claim_orphans_v1,
    foja.claim_object_v1, foja.record_purge_v1, foja.restore_object_v1, foja.record_orphan_run_v1, foja.rebuild_references_v1
    to foja_worker;
grant execute on function foja.plan_orphan_scans_v1 to foja_sweeper;
grant execute on function foja.orphan_deadline, foja.orphan_days to foja_worker, service_role, foja_reader;
grant execute on function foja.document_references, foja.document_objects, foja.is_outdated, foja.as_uuid, foja.whole_number, foja.object_path
    to foja_worker, service_role, foja_reader;

alter table foja.object_reference enable row level security, force row level security;
create policy owner_works on foja.object_reference to current_user using (true) with check (true);
create policy installation_reads on foja.object_reference for select to foja_worker, service_role, foja_reader using (true);
create policy tenant_reads on foja.object_reference for select to foja_api
    using (tenant = (select nullif(current_setting('foja.tenant', true), '')));
