import { namesServiceAndToken, resolveBaseUrl, resolveProfileName } from '../config/settings.ts';
import { nameProfile } from '../config/token-sources.ts';
import { UsageError } from '../errors.ts';
import { shellQuote } from '../shell-quote.ts';
import type { Context } from './context.ts';
import { shellCommand } from './shell-command.ts';

/**
 * Makes sure that a write through a protected profile is meant: by --confirm, else by a question in a terminal. A service
 * and a token that both come from flags or the environment belong to no profile, and are never asked about.
 * @param confirmed the value of --confirm
 * @throws UsageError if it names another profile than the one in use, or is missing where nothing can be asked
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
      hint: `If that is meant, add --confirm ${shellQuote(name)}`,
    });
  }
  await context.askText(
    `Profile ${JSON.stringify(name)} is protected. To write to ${service}, type its name:`,
    (typed) => (typed === name ? true : `That is not ${name}. Ctrl-C sends nothing.`),
  );
}
