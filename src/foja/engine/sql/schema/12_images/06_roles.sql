-- Who may do what with galleries. No role may change `product_images`: the guard writes it with the events.

-- Who may read galleries: their tenant, every user, or everyone.
create function foja.gallery_readers() returns text
language sql stable security definer set search_path = pg_catalog, pg_temp
return (select r.read from foja.gallery_rule r);

-- Set what this installation allows; null keeps what is set.
create function foja.set_gallery_rule_v1(p_read text, p_limit integer) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    update foja.gallery_rule r set read = coalesce(p_read, r.read), image_limit = coalesce(p_limit, r.image_limit)
    where (r.read, r.image_limit) <> (coalesce(p_read, r.read), coalesce(p_limit, r.image_limit));
end $$;

revoke execute on function public.insert_image_with_order, public.set_product_images_updated_at from public;
grant select on foja.gallery_rule to foja_worker, service_role, foja_api, foja_reader;
grant select on public.products, public.product_images to anon;
grant insert, delete on public.products to service_role, foja_api;
grant update (supplier_id) on public.products to service_role, foja_api;
grant execute on function foja.gallery_readers to authenticated, anon;
grant execute on function foja.image_references to foja_worker, service_role, foja_reader;
grant execute on function foja.delete_product_v1, foja.rebuild_galleries_v1, public.insert_image_with_order
    to service_role, foja_api;
grant execute on function foja.set_gallery_rule_v1 to service_role, foja_operator;
select foja.share_rows('public.products', 'foja_api, authenticated', p_verb => 'all');
select foja.share_rows('public.product_images', 'foja_api, authenticated');
create policy gallery_reads on public.products for select to authenticated using ((select foja.gallery_readers()) <> 'tenant');
create policy gallery_reads on public.product_images for select to authenticated using ((select foja.gallery_readers()) <> 'tenant');
create policy public_reads on public.products for select to anon using ((select foja.gallery_readers()) = 'public');
create policy public_reads on public.product_images for select to anon using ((select foja.gallery_readers()) = 'public');
