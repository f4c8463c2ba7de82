import { toNfc } from '../cron/job.ts';
import type { Difference } from './differences.ts';
import type { Manifest } from './manifest.ts';
import type { Unmanaged } from './plan.ts';

type Ignored = Manifest['ignore'];
type Thing = Pick<Unmanaged, 'resource' | 'id' | 'name'>;

function isNamed(wanted: string | undefined, names: readonly (string | null)[]): boolean {
  return wanted === undefined || names.some((name) => name !== null && toNfc(name) === toNfc(wanted));
}

/** The differences that a manifest does not ask to ignore. */
export function withoutIgnored(ignored: Ignored = [], differences: readonly Difference[]): readonly Difference[] {
  return differences.filter(
    ({ resource, name, field }) =>
      !ignored.some((by) => by.resource === resource && isNamed(by.name, [name]) && (by.field ?? field) === field),
  );
}

/** Whether a manifest asks to ignore a thing that it does not have, by the name of the thing or by its id. */
export function isIgnored(ignored: Ignored = [], { resource, id, name }: Thing): boolean {
  return ignored.some((by) => by.resource === resource && by.field === undefined && isNamed(by.name, [name, id]));
}

/**
 * Whether a manifest names a thing that it ignores. To ignore all of a kind says nothing about this one.
 * @param thing without its name to ask for its id alone: then it is none of those in the manifest
 */
export function isNamedByIgnore(ignored: Ignored = [], thing: Thing): boolean {
  const named = ignored.filter(({ name }) => name !== undefined);
  return isIgnored(named, thing);
}
