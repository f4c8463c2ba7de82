import { UsageError } from '../errors.ts';

/** Which spaces: the globs of --only and --exclude, over external_space_ids. */
export interface Selection {
  readonly only: readonly string[];
  readonly exclude: readonly string[];
}

/**
 * Selects by external_space_id. A `!` is a character: --exclude says what is left out.
 * @throws UsageError for a glob that matches nothing
 */
export async function selectSpaces<Item>(
  items: readonly Item[],
  idOf: (item: Item) => string,
  { only, exclude }: Selection,
): Promise<readonly Item[]> {
  if (only.length === 0 && exclude.length === 0) return items;
  const { default: picomatch } = await import('picomatch');
  const ids = items.map(idOf);
  const compile = (flag: string) => (glob: string) => {
    const matches = picomatch(glob, { nonegate: true, dot: true });
    if (ids.some((id) => matches(id))) return matches;
    throw new UsageError(`${flag} ${glob} matches none of the ${ids.length} spaces.`, {
      hint: "It is a glob over the external_space_id, such as --only 'acme-*'.",
    });
  };
  const [wanted, unwanted] = [only.map(compile('--only')), exclude.map(compile('--exclude'))];
  return items.filter((item) => {
    const id = idOf(item);
    return (wanted.length === 0 || wanted.some((matches) => matches(id))) && !unwanted.some((matches) => matches(id));
  });
}
