import { nameProfile } from '../config/profiles.ts';
import { namesServiceAndToken, resolveBaseUrl, resolveProfileName } from '../config/settings.ts';
import { UsageError } from '../errors.ts';
import { shellQuote } from '../platform/shell-quote.ts';
import type { Context } from './context.ts';
import { askText } from './prompts.ts';

/** As `Context.confirmWrite`. Does nothing if service and token come from flags or the environment: no profile is in use then. */
export async function confirmWrite(context: Context, confirmed: string | undefined): Promise<void> {
  const { flags, env, config } = context;
  if (namesServiceAndToken(flags, env)) return;
  const profiles = await config.read();
  const { value: name, from } = resolveProfileName(flags, env, profiles);
  const isProtected = profiles.profiles[name]?.protected === true;
  const info = { why: 'Nothing was sent.', hint: `To confirm the write, add --confirm ${shellQuote(name)}` };
  if (confirmed !== undefined && confirmed !== name) {
    const used = `the command uses ${nameProfile(name)} (${from})`;
    throw new UsageError(`--confirm names ${nameProfile(confirmed)}, but ${used}.`, info);
  }
  if (!isProtected || confirmed !== undefined) return;
  const service = resolveBaseUrl(flags, env, profiles) ?? 'its service';
  if (!context.isInteractive) {
    throw new UsageError(`Profile ${JSON.stringify(name)} is protected, and this command writes to ${service}.`, info);
  }
  const question = `Profile ${JSON.stringify(name)} is protected. To write to ${service}, type its name:`;
  await askText(context, question, (typed) => (typed === name ? true : `That is not ${name}. Ctrl-C sends nothing.`));
}
