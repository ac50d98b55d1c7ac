-- Back to a schema without galleries. Their events stay, and the next way up makes the rows from them again.

select foja.keep_rows('foja.gallery_rule', 'foja.thumbnail_rule', 'foja.variant_sweep', 'public.products',
    'public.image_thumbnail_jobs');
update foja.domain set guard = null where domain = 'image';
update foja.kind set tracked = false where domain = 'image' and tracked;
