import { existsSync } from 'node:fs';
import type { Context } from './context.ts';

/**
 * Warns in CI if the state is a file that does not exist: it was not restored, or is new, and guards only this machine.
 * @param created what the command creates, in the plural: `jobs`
 */
export async function warnIfUnshared(
  { env, stateLocation, warn }: Pick<Context, 'env' | 'stateLocation' | 'warn'>,
  created: string,
): Promise<void> {
  // A sandbox is not shared with other machines.
  if (!env.CI || env.PARTNER_SANDBOX_URL) return;
  const { kind, path } = await stateLocation();
  if (kind !== 'file' || existsSync(path)) return;
  await warn(
    `There is no state file yet (${path}): the guard against duplicate ${created} covers this machine alone. Share one state with --state postgres://… or git+ssh://…#branch, or keep the file in the cache of the CI: partnerctl help state`,
  );
}
