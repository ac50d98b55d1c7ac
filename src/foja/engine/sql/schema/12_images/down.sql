-- Back to a schema without galleries. Their events stay, and the next way up makes the rows from them again.

select foja.keep_rows('foja.gallery_rule', 'foja.thumbnail_rule', 'foja.variant_sweep', 'public.products',
    'public.image_thumbnail_jobs');
update foja.domain set guard = null where domain = 'image';
update foja.kind set tracked = false where domain = 'image' and tracked;

drop view public.vw_image_closing_criteria, public.vw_image_system_overview, public.vw_image_orphan_run_metrics,
    public.vw_image_gallery_metrics, public.vw_image_thumbnail_job_metrics;
drop function foja.open_image_tables;
drop trigger image_erased on foja.event;
drop trigger rendering_changed on foja.job;
drop function foja.unrendered_images, foja.rebuild_galleries_v1, foja.rebuild_gallery, foja.replay_gallery, foja.gallery_rows, foja.refer_images,
    foja.image_references, public.insert_image_with_order;
drop function foja.rebuild_thumbnail_jobs, foja.rendering_target_v1, foja.render_again_v1, foja.sweep_variants_v1,
    foja.arm_retries_v1, foja.set_thumbnail_rule_v1, foja.superseded;
drop table public.image_thumbnail_jobs, foja.image_variant, foja.variant_sweep;
drop table public.product_images, public.products;
drop function foja.track_rendering, foja.show_rendering, foja.thumbnail_status, foja.request_rendering, foja.queue_rendering, foja.rendering_death, foja.rendering_attempts, foja.rendering_payload;
drop table foja.thumbnail_rule;
drop function public.set_product_images_updated_at, foja.set_gallery_rule_v1, foja.gallery_readers,
    foja.keep_product, foja.end_gallery, foja.delete_product_v1, foja.remove_images, foja.track_images, foja.track_image, foja.add_images, foja.insert_images, foja.record_image, foja.check_isolation, foja.check_room, foja.check_image_key,
    foja.content_problem, foja.hold_product, foja.forget_image, foja.apply_image_event, foja.change_image, foja.as_place,
    foja.image_of, foja.show_variant, foja.replace_image, foja.remove_image, foja.move_image, foja.add_image,
    foja.adopted_at, foja.image_url;
drop table foja.gallery_rule;
