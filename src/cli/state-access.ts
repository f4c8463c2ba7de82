import { dirname } from 'node:path';
import { resolveProfileName } from '../config/settings.ts';
import type { StateStore } from '../state/store.ts';
import type { Context } from './context.ts';
import type { ContextParts, RuntimeDeps } from './create-context.ts';

type StateAccess = Pick<Context, 'privateDirectory' | 'stateLocation' | 'statePath' | 'stateStore'>;

/** Creates access to the state. Opens nothing until a command needs it; `close` closes every store that was opened. */
export function createState(
  { env, platform, home, clock, random, version }: RuntimeDeps,
  parts: ContextParts & Pick<Context, 'abortSignal' | 'config' | 'flags'>,
): StateAccess & { close(): Promise<void> } {
  const stores = new Map<string | undefined, Promise<StateStore>>();
  async function profileState(): Promise<string | undefined> {
    const profiles = await parts.config.read();
    return profiles.profiles[resolveProfileName(parts.flags, env, profiles).value]?.state;
  }
  async function stateLocation(address = parts.flags.state) {
    const location = await import('../state/location.ts');
    const profile = address === undefined && !env.PARTNER_STATE ? await profileState() : undefined;
    return location.stateLocation({ flag: address, env, profile, platform, home });
  }
  async function open(address: string | undefined): Promise<StateStore> {
    const { openStore } = await import('../state/open-store.ts');
    const { describeAuthor } = await import('../state/author.ts');
    const author = describeAuthor(env, version);
    return openStore({ ...parts, location: await stateLocation(address), env, clock, random, author });
  }
  return {
    stateLocation: () => stateLocation(),
    stateStore(address) {
      const opened = stores.get(address) ?? open(address);
      stores.set(address, opened);
      return opened;
    },
    async close() {
      for (const store of stores.values()) await (await store.catch(() => undefined))?.close();
    },
    statePath: async () => (await stateLocation()).path,
    async privateDirectory() {
      const location = await import('../state/location.ts');
      const defaults = { flag: undefined, env: { ...env, PARTNER_STATE: undefined }, platform, home };
      return dirname(location.stateLocation(defaults).path);
    },
  };
}
