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

revoke execute on function
    foja.image_url, foja.adopted_at, foja.add_image, foja.move_image, foja.remove_image, foja.replace_image, foja.show_variant,
    foja.image_of, foja.as_place, foja.change_image, foja.apply_image_event, foja.forget_image, foja.hold_product,
    foja.content_problem, foja.check_image_key, foja.check_room, foja.track_image, foja.track_images, foja.insert_images, foja.record_image, foja.add_images, foja.remove_images, foja.delete_product_v1, foja.end_gallery, foja.check_isolation,
    foja.keep_product, foja.image_references, foja.refer_images, foja.gallery_rows, foja.replay_gallery, foja.rebuild_gallery, foja.rebuild_galleries_v1,
    foja.gallery_readers, foja.set_gallery_rule_v1, public.insert_image_with_order, public.set_product_images_updated_at
    from public;

grant select on foja.gallery_rule, public.products, public.product_images
    to foja_worker, service_role, foja_api, foja_reader;
grant select on public.products, public.product_images to authenticated, anon;
grant insert, delete on public.products to service_role, foja_api;
grant update (supplier_id) on public.products to service_role, foja_api;
grant execute on function foja.gallery_readers to authenticated, anon;
grant execute on function foja.image_references to foja_worker, service_role, foja_reader;
grant execute on function foja.delete_product_v1, foja.rebuild_galleries_v1, public.insert_image_with_order
    to service_role, foja_api;
grant execute on function foja.set_gallery_rule_v1 to service_role, foja_operator;

alter table public.products enable row level security, force row level security;
alter table public.product_images enable row level security, force row level security;

create policy owner_works on public.products to current_user using (true) with check (true);
create policy owner_works on public.product_images to current_user using (true) with check (true);
create policy installation_reads on public.products for select
    to foja_worker, service_role, foja_reader using (true);
create policy installation_reads on public.product_images for select
    to foja_worker, service_role, foja_reader using (true);
create policy tenant_reads on public.products for select to foja_api
    using (tenant = (select nullif(current_setting('foja.tenant', true), '')));
create policy tenant_reads on public.product_images for select to foja_api
    using (tenant = (select nullif(current_setting('foja.tenant', true), '')));
create policy installation_inserts on public.products for insert to service_role with check (true);
create policy installation_updates on public.products for update to service_role using (true) with check (true);
create policy installation_deletes on public.products for delete to service_role using (true);
create policy tenant_inserts on public.products for insert to foja_api with check (tenant = (select nullif(current_setting('foja.tenant', true), '')));
create policy tenant_updates on public.products for update to foja_api using (tenant = (select nullif(current_setting('foja.tenant', true), '')))
    with check (tenant = (select nullif(current_setting('foja.tenant', true), '')));
create policy tenant_deletes on public.products for delete to foja_api using (tenant = (select nullif(current_setting('foja.tenant', true), '')));
create policy gallery_reads on public.products for select to authenticated
    using (tenant = (select nullif(current_setting('foja.tenant', true), '')) or (select foja.gallery_readers()) <> 'tenant');
create policy gallery_reads on public.product_images for select to authenticated
    using (tenant = (select nullif(current_setting('foja.tenant', true), '')) or (select foja.gallery_readers()) <> 'tenant');
create policy public_reads on public.products for select to anon using ((select foja.gallery_readers()) = 'public');
create policy public_reads on public.product_images for select to anon using ((select foja.gallery_readers()) = 'public');
