-- A product that is deleted takes its images with it, as events.

-- Remove every image of a product; returns how many. From the last to the first: nothing has to move up.
create function foja.remove_images(p_product uuid, p_tenant text, p_reason text, p_actor text) returns bigint
language plpgsql as $$
declare
    removals foja.draft[];
begin
    select array_agg(foja.new_draft(p_product, 'image', p_tenant, 'image.removed', foja.canonical(
        jsonb_build_object('image_id', i.id, 'reason', p_reason)), 'api', p_actor) order by i.image_order desc)
    into removals from public.product_images i where i.product_id = p_product;
    if removals is not null then
        perform foja.append_drafts(removals, true, true);
    end if;
    return coalesce(cardinality(removals), 0);
end $$;

create function foja.end_gallery() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    perform foja.check_isolation('deleting a product');
    perform foja.remove_images(old.productid, old.tenant, 'product deleted', null);
    return old;
end $$;

-- Delete a product of a tenant, for a reason and by a person that the events name; returns how many images it had. One
-- that was deleted before has none: a call whose answer was lost is repeated.
create function foja.delete_product_v1(p_tenant text, p_product uuid, p_reason text, p_actor text) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    removed bigint := 0;
begin
    perform foja.check_source('api');
    perform foja.check_isolation('deleting a product');
    perform from public.products p where p.productid = p_product and p.tenant = p_tenant and foja.may_act_for(p_tenant)
        for update;
    if found then
        removed := foja.remove_images(p_product, p_tenant, p_reason, p_actor);
        delete from public.products p where p.productid = p_product;
    elsif not foja.may_act_for(p_tenant)
        or not exists (select from foja.entity e where e.entity_id = p_product and e.tenant = p_tenant and e.domain = 'image') then
        perform foja.refuse('unknown_product', format('there is no product %s', p_product));
    end if;
    return removed;
end $$;

create trigger product_deleted before delete on public.products for each row execute function foja.end_gallery();
create trigger product_truncated before truncate on public.products for each statement execute function foja.forbid_change();
create trigger product_images_truncated before truncate on public.product_images
    for each statement execute function foja.forbid_change();
alter table public.products enable always trigger product_deleted, enable always trigger product_truncated;
alter table public.product_images enable always trigger product_images_truncated;

-- A product keeps its id and its tenant: they are those of its stream.
create function foja.keep_product() returns trigger
language plpgsql as $$
begin
    if (new.productid, new.tenant) <> (old.productid, old.tenant) then
        perform foja.refuse('wrong_entity', format('the product %s keeps its id and its tenant', old.productid));
    end if;
    return new;
end $$;

create trigger product_kept before update on public.products for each row execute function foja.keep_product();
