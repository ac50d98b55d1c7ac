-- Who may do what with objects. A tenant reads its references: an object belongs to every tenant that refers to it.

grant select on foja.object, foja.object_upload, foja.unstaged, foja.orphan_run, foja.purge_lock, public.image_orphan_candidates,
        public.vw_image_orphan_candidates_metrics
    to foja_worker, service_role, foja_reader;
-- Not those of requests and workers: who may say that a tenant has the bytes could say it of any digest.
grant execute on function foja.begin_object_v1, foja.finish_object_v1 to foja_operator;
grant execute on function
    foja.stage_orphans_v1, foja.stage_strays_v1, foja.unstage_referred_v1, foja.quarantine_orphans_v1, foja.claim_orphans_v1,
    foja.claim_object_v1, foja.record_purge_v1, foja.restore_object_v1, foja.record_orphan_run_v1, foja.rebuild_references_v1
    to foja_worker;
grant execute on function foja.plan_orphan_scans_v1 to foja_sweeper;
grant execute on function foja.orphan_deadline, foja.orphan_days to foja_worker, service_role, foja_reader;
grant execute on function foja.document_references, foja.document_objects, foja.is_outdated, foja.whole_number, foja.object_path
    to foja_worker, service_role, foja_reader;
select foja.share_rows('foja.object_reference', 'foja_api');
select foja.restrict_functions();
