import * as v from 'valibot';

export const spaceRecordSchema = v.strictObject({
  space_id: v.string(),
  external_space_id: v.string(),
  name: v.string(),
  description: v.string(),
  is_org_wide: v.boolean(),
  created_at: v.string(),
});

/** A customer workspace (spec §2). */
export type SpaceRecord = v.InferOutput<typeof spaceRecordSchema>;

/** Spaces in the order of creation, by id, and by the caller's stable id. */
export class SpaceTable {
  readonly #all: SpaceRecord[] = [];
  readonly #byId = new Map<string, SpaceRecord>();
  readonly #byExternalId = new Map<string, SpaceRecord>();

  add(space: SpaceRecord): void {
    this.#all.push(space);
    this.#byId.set(space.space_id, space);
    this.#byExternalId.set(space.external_space_id, space);
  }

  get(spaceId: string): SpaceRecord | undefined {
    return this.#byId.get(spaceId);
  }

  byExternalId(externalId: string): SpaceRecord | undefined {
    return this.#byExternalId.get(externalId);
  }

  all(): readonly SpaceRecord[] {
    return this.#all;
  }
}
