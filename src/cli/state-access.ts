import { resolveProfileName } from '../config/settings.ts';
import type { Log } from '../state/log.ts';
import type { Context } from './context.ts';

type StateAccess = Pick<Context, 'log' | 'stateLocation' | 'statePath'> & { close(): Promise<void> };

/** Creates access to the state. Opens nothing until a command needs it; `close` closes every log that was opened. */
export function createState(contextOf: () => Context): StateAccess {
  const logs = new Map<string | undefined, Promise<Log>>();
  async function stateLocation(address?: string) {
    const { env, flags, config, runtime } = contextOf();
    const { stateLocation } = await import('../state/location.ts');
    const flag = address ?? flags.state;
    let profile: string | undefined;
    if (flag === undefined && !env.PARTNER_STATE) {
      const profiles = await config.read();
      profile = profiles.profiles[resolveProfileName(flags, env, profiles).value]?.state;
    }
    return stateLocation({ flag, env, profile, platform: runtime.platform, home: runtime.home });
  }
  async function open(address: string | undefined): Promise<Log> {
    const { openLog } = await import('../state/open-log.ts');
    const { env, clock, random, redact, addSecret, warn, abortSignal: signal } = contextOf();
    const location = await stateLocation(address);
    return openLog({ location, env, clock, random, redact, addSecret, warn, signal });
  }
  return {
    stateLocation,
    statePath: async () => (await stateLocation()).path,
    log(address) {
      const opened = logs.get(address) ?? open(address);
      logs.set(address, opened);
      return opened;
    },
    async close() {
      for (const log of logs.values()) await (await log.catch(() => undefined))?.close();
    },
  };
}
