import { namesServiceAndToken, resolveBaseUrl, resolveProfileName } from '../config/settings.ts';
import { nameProfile } from '../config/token-sources.ts';
import { UsageError } from '../errors.ts';
import { shellQuote } from '../platform/shell-quote.ts';
import type { Context } from './context.ts';
import { shellCommand } from './shell-command.ts';

/**
 * Requires a confirmation for a write through a protected profile: --confirm, or else the profile's name at a prompt. Does
 * nothing if both service and token come from flags or the environment, because then no profile is in use.
 * @param confirmed the value of --confirm
 * @throws UsageError if it names another profile, or is missing where the user cannot be asked
 */
export async function confirmWrite(context: Context, confirmed: string | undefined): Promise<void> {
  const { flags, env, config } = context;
  if (namesServiceAndToken(flags, env)) return;
  const profiles = await config.read();
  const { value: name, from } = resolveProfileName(flags, env, profiles);
  if (confirmed !== undefined && confirmed !== name) {
    throw new UsageError(
      `--confirm names ${nameProfile(confirmed)}, but the command uses ${nameProfile(name)} (${from}).`,
      {
        why: 'Nothing was sent.',
        hint: `Use the other profile with: ${shellCommand([], { profile: confirmed })} …`,
      },
    );
  }
  const isProtected = Object.hasOwn(profiles.profiles, name) && profiles.profiles[name]?.protected === true;
  if (!isProtected || confirmed !== undefined) return;
  const service = resolveBaseUrl(flags, env, profiles) ?? 'its service';
  if (!context.isInteractive) {
    throw new UsageError(`Profile ${JSON.stringify(name)} is protected, and this command writes to ${service}.`, {
      why: 'Nothing was sent.',
      hint: `To confirm the write, add --confirm ${shellQuote(name)}`,
    });
  }
  await context.askText(
    `Profile ${JSON.stringify(name)} is protected. To write to ${service}, type its name:`,
    (typed) => (typed === name ? true : `That is not ${name}. Ctrl-C sends nothing.`),
  );
}
