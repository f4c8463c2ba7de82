import { resolveProfileName } from '../config/settings.ts';
import type { Log } from '../state/log.ts';
import type { BaseContext, Context } from './context.ts';

type StateAccess = Pick<Context, 'log' | 'stateLocation' | 'statePath'> & { close(): Promise<void> };

/** Creates access to the state. Opens nothing until a command needs it; `close` closes every log that was opened. */
export function createState(context: BaseContext): StateAccess {
  const { env, clock, random, flags, config, runtime, abortSignal: signal, redact, addSecret, warn } = context;
  const { platform, version, home } = runtime;
  const logs = new Map<string | undefined, Promise<Log>>();
  async function profileState(): Promise<string | undefined> {
    const profiles = await config.read();
    return profiles.profiles[resolveProfileName(flags, env, profiles).value]?.state;
  }
  async function stateLocation(address = flags.state) {
    const location = await import('../state/location.ts');
    const profile = address === undefined && !env.PARTNER_STATE ? await profileState() : undefined;
    return location.stateLocation({ flag: address, env, profile, platform, home });
  }
  async function open(address: string | undefined): Promise<Log> {
    const { openLog } = await import('../state/open-log.ts');
    const location = await stateLocation(address);
    return openLog({ location, env, clock, random, version, redact, addSecret, warn, signal });
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
