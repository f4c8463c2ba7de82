import type { Contract } from './contract.ts';
import { fieldsOf } from './fields.ts';
import type { JsonObject } from './json.ts';

/** A listed space (spec §2). A field is undefined if the service did not send it. */
export interface ListedSpace {
  readonly space_id: string;
  /** Null if the service says that the space has none. */
  readonly external_space_id: string | null | undefined;
  readonly name: string | undefined;
  /** Null if the service says that the space has none. */
  readonly description: string | null | undefined;
  /** A text if the service sent anything other than a boolean. */
  readonly is_org_wide: boolean | string | undefined;
  /** The object as the service sent it. */
  readonly item: JsonObject;
}

/**
 * Reads one space of a list.
 * @throws UnknownShape if it has no id, or if a field that was sent cannot be read
 */
export function readSpace(object: JsonObject, contract: Contract): ListedSpace {
  const fields = fieldsOf(object, 'space', contract);
  const orgWide = fields.value('space.is_org_wide');
  return {
    space_id: fields.readId('space.id'),
    external_space_id: fields.nullableText('space.external_space_id'),
    name: fields.shownText('space.name'),
    description: fields.nullableText('space.description'),
    is_org_wide: typeof orgWide === 'boolean' ? orgWide : fields.text('space.is_org_wide'),
    item: object,
  };
}
