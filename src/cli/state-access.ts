import { nameProfile, type Profile } from '../config/profiles.ts';
import { resolveProfileName, type Sourced } from '../config/settings.ts';
import { CredentialsError } from '../errors.ts';
import { toSentenceCase } from '../platform/to-sentence-case.ts';
import type { Log } from '../state/log.ts';
import type { BaseContext, Context } from './context.ts';

type StateAccess = Pick<Context, 'log' | 'stateLocation' | 'statePath'> & { close(): Promise<void> };

/** Creates access to the state. Opens nothing until a command needs it; `close` closes every log that was opened. */
export function createState(context: BaseContext): StateAccess {
  const { env, clock, random, flags, config, runtime, abortSignal: signal, redact, addSecret, warn } = context;
  const { platform, version } = runtime;
  const logs = new Map<string | undefined, Promise<Log>>();
  async function readProfile(): Promise<Sourced<Profile | undefined>> {
    const profiles = await config.read();
    const name = resolveProfileName(flags, env, profiles).value;
    return { value: profiles.profiles[name], from: nameProfile(name) };
  }
  /** Runs the profile's password command. Use it only for the profile's own state. */
  async function readPassword(): Promise<string | undefined> {
    const { value: profile, from } = await readProfile();
    if (profile?.state_password_command === undefined) return undefined;
    const { runSecretCommand } = await import('../config/read-token.ts');
    const what = `${from}'s state_password_command`;
    const password = await runSecretCommand(profile.state_password_command, what, signal);
    if (password.trim() !== '') return password.trimEnd();
    throw new CredentialsError(`${toSentenceCase(what)} printed nothing.`, {
      hint: 'Its first line of output must be the password.',
    });
  }
  async function stateLocation(address = flags.state) {
    const location = await import('../state/location.ts');
    const profile = address === undefined && !env.PARTNER_STATE ? (await readProfile()).value?.state : undefined;
    return location.stateLocation({ flag: address, env, profile, platform, home: runtime.home });
  }
  async function open(address: string | undefined): Promise<Log> {
    const { openLog } = await import('../state/open-log.ts');
    const location = await stateLocation(address);
    const own = location.from === 'profile' ? { readPassword } : {};
    return openLog({ location, env, clock, random, version, redact, addSecret, warn, signal, ...own });
  }
  return {
    log(address) {
      const opened = logs.get(address) ?? open(address);
      logs.set(address, opened);
      return opened;
    },
    stateLocation,
    async close() {
      for (const log of logs.values()) await (await log.catch(() => undefined))?.close();
    },
    statePath: async () => (await stateLocation()).path,
  };
}
