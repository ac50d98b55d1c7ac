-- Galleries under the names of the seed, for programs that know only these names.

-- Append an image to the gallery of a product and return its place. An address that is not ours is kept, never fetched.
create function public.insert_image_with_order(p_product_id uuid, p_image_url text, p_supplier_id uuid) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp
set enable_seqscan = off as $$  -- also in a session whose first call found no image
declare
    held public.products;
    digest text := substring(p_image_url from '^foja:sha256/([0-9a-f]{64})$');
    stored foja.receipt;
begin
    perform foja.check_isolation('insert_image_with_order');
    select * into held from public.products p
    where p.productid = p_product_id and p.tenant = foja.acting_tenant() and foja.may_act_for(p.tenant) for key share;
    if held.productid is null then
        perform foja.refuse('unknown_product', format('there is no product %s; insert it into products first', p_product_id));
    elsif p_supplier_id <> coalesce(held.supplier_id, '00000000-0000-0000-0000-000000000000') then
        perform foja.refuse('wrong_supplier', format('the product %s does not belong to the supplier %s', p_product_id,
            p_supplier_id));
    elsif p_image_url is null then
        perform foja.refuse('bad_payload', 'an image needs a url');
    end if;
    stored := foja.append(foja.new_draft(p_product_id, 'image', held.tenant, 'image.added', case when digest is null
        then '{"url":' || to_json(p_image_url)::text || '}' else '{"object":"' || digest || '"}' end, 'api'));
    return (select i.image_order from public.product_images i where i.id = stored.event_id);
end $$;
