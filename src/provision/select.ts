import { UsageError } from '../errors.ts';

/** Which spaces: the globs of --only and --exclude, over external_space_ids. */
export interface Selection {
  readonly only: readonly string[];
  readonly exclude: readonly string[];
}

/**
 * Makes the rule of a selection. A `!` is a character: --exclude says what is left out. What has no external_space_id
 * matches no glob.
 * @param ids all external_space_ids
 * @throws UsageError for a glob that matches none of them
 */
export async function spaceSelector(
  ids: readonly (string | null | undefined)[],
  { only, exclude }: Selection,
): Promise<(id: string | null | undefined) => boolean> {
  if (only.length === 0 && exclude.length === 0) return () => true;
  const { default: picomatch } = await import('picomatch');
  const compile = (flag: string, globs: readonly string[]) => {
    const rules = globs.map((glob) => {
      const matches = picomatch(glob, { nonegate: true, dot: true });
      if (ids.some((id) => id && matches(id))) return matches;
      throw new UsageError(`${flag} ${glob} matches none of the ${ids.length} spaces.`, {
        hint: "It is a glob over the external_space_id, such as --only 'acme-*'.",
      });
    });
    return (id: string) => rules.some((matches) => matches(id));
  };
  const [isWanted, isUnwanted] = [compile('--only', only), compile('--exclude', exclude)];
  return (id) => (id ? (only.length === 0 || isWanted(id)) && !isUnwanted(id) : only.length === 0);
}
