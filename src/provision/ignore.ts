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
  const isIgnored = ({ resource, name, field }: Difference) =>
    ignored.some(
      (entry) => entry.resource === resource && isNamed(entry.name, [name]) && (entry.field ?? field) === field,
    );
  return differences.filter((difference) => !isIgnored(difference));
}

/** Whether a manifest asks to ignore a thing that it does not have, by the name of the thing or by its id. */
export function isIgnored(ignored: Ignored = [], { resource, id, name }: Thing): boolean {
  return ignored.some(
    (entry) => entry.resource === resource && entry.field === undefined && isNamed(entry.name, [name, id]),
  );
}

/** Whether a manifest names a thing that it ignores. To ignore all of a kind says nothing about this one. */
export function isNamedByIgnore(ignored: Ignored = [], thing: Thing): boolean {
  return isIgnored(
    ignored.filter(({ name }) => name !== undefined),
    thing,
  );
}

/** Whether a manifest ignores a thing by its id: it is none of those in the manifest, whatever its name is. */
export function isIgnoredById(ignored: Ignored = [], resource: Thing['resource'], id: string): boolean {
  return ignored.some((entry) => entry.resource === resource && entry.field === undefined && entry.name === id);
}
