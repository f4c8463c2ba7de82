import { setMaxListeners } from 'node:events';
import type { GlobalFlags } from '../config/global-flags.ts';
import { configDirectory, type Profiles, readProfiles, updateProfiles } from '../config/profiles.ts';
import { resolveBaseUrl, resolveProfileName, resolveService } from '../config/settings.ts';
import { LocalError } from '../errors.ts';
import type { Progress } from '../output/progress.ts';
import type { Redactor } from '../output/redact.ts';
import { sanitizeLine } from '../output/sanitize.ts';
import { shellQuote } from '../platform/shell-quote.ts';
import type { Log } from '../state/log.ts';
import type { Context, RuntimeDeps } from './context.ts';

/** Creates a signal that aborts on interruption and at the time limit, if there is one. */
function createAbortSignal(timeoutMs: number | undefined, interrupt: AbortSignal) {
  const timeout = new AbortController();
  const hint = 'Allow more time with --timeout.';
  const fail = () => timeout.abort(new LocalError('The command did not finish within --timeout.', { hint }));
  const timer = timeoutMs === undefined ? undefined : setTimeout(fail, timeoutMs);
  const signal = AbortSignal.any([interrupt, timeout.signal]);
  // Node warns about more than ten listeners, and every concurrent operation adds one.
  setMaxListeners(0, signal);
  return { signal, clear: () => clearTimeout(timer) };
}

/** As `Context.command`. */
function shellCommand(
  args: readonly string[],
  { profile, baseUrl, tokenFile, state }: GlobalFlags,
  operands: readonly string[] = [],
): string {
  const flags = { '--profile': profile, '--base-url': baseUrl, '--token-file': tokenFile, '--state': state };
  const globalArgs = Object.entries(flags).flatMap(([flag, value]) => (value === undefined ? [] : [flag, value]));
  const needsSeparator = operands.some((operand) => /^-./.test(operand));
  const all = ['partnerctl', ...args, ...globalArgs, ...(needsSeparator ? ['--'] : []), ...operands];
  return all.map(shellQuote).join(' ');
}

/** Creates access to the profiles. Reads them once, and redacts their tokens from all later output. */
function createConfig({ env, platform, home }: RuntimeDeps, { add }: Redactor): Context['config'] {
  const directory = configDirectory(env, platform, home);
  let profiles: Promise<Profiles> | undefined;
  async function readSecretly(): Promise<Profiles> {
    const stored = await readProfiles(directory);
    for (const { token } of Object.values(stored.profiles)) if (token !== undefined) add(token);
    return stored;
  }
  return {
    directory,
    read() {
      profiles ??= readSecretly();
      return profiles;
    },
    async update(change) {
      profiles = Promise.resolve(await updateProfiles(directory, change));
    },
  };
}

type StateAccess = Pick<Context, 'log' | 'stateLocation' | 'statePath'> & { close(): Promise<void> };

/** Creates access to the state. Opens nothing until a command needs it; `close` closes every log that was opened. */
function createState(contextOf: () => Context): StateAccess {
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
    return openLog({ location: await stateLocation(address), env, clock, random, redact, addSecret, warn, signal });
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

/**
 * Creates a command's context. Reads no file and opens no connection until the command needs one.
 * The caller must call `close` when the command ends.
 */
export function createContext(
  deps: RuntimeDeps,
  flags: GlobalFlags,
  progress: Progress,
  redactor: Redactor,
): Context & { close(): Promise<void> } {
  const { io, terminal, env, clock, random, signals } = deps;
  const { add: addSecret, remove: revealSecret, redact } = redactor;
  const { signal: abortSignal, clear } = createAbortSignal(flags.timeout, signals.interrupt);
  const config = createConfig(deps, redactor);
  const writeLine = (text: string) => io.stderr.write(`${sanitizeLine(text)}\n`);
  const state = createState(() => context);
  const connect = async () => (await import('./clients.ts')).createClients(context);
  let clients: ReturnType<typeof connect> | undefined;
  const connected = () => {
    clients ??= connect();
    return clients;
  };
  const context: Context & { close(): Promise<void> } = {
    ...{ io, terminal, env, clock, random, signals, runtime: deps, flags, progress, config },
    ...{ addSecret, revealSecret, redact, abortSignal },
    ...state,
    deadline: flags.timeout === undefined ? undefined : clock.now() + flags.timeout,
    get isInteractive() {
      // Reading io.stdin opens it.
      return flags.input && io.stderr.isTTY && !env.CI && io.stdin.isTTY === true;
    },
    writeLine,
    notice: async (text) => (flags.quiet ? undefined : writeLine(text)),
    warn: (text) => writeLine(`warning: ${text}`),
    command: (words, operands) => shellCommand(words, flags, operands),
    confirm: async (question) => (await import('./prompts.ts')).confirm(context, question),
    confirmWrite: async (name) => (await import('./prompts.ts')).confirmWrite(context, name),
    baseUrl: async () => resolveBaseUrl(flags, env, await config.read()),
    async contractKey() {
      const profiles = await config.read();
      const { baseUrl, profile } = resolveService(flags, env, profiles);
      return { profile: profile.value, baseUrl: baseUrl.value };
    },
    http: async () => (await connected()).http(),
    httpTo: async (...target) => (await connected()).httpTo(...target),
    fetchDocument: async (url) => (await connected()).fetchDocument(url),
    async close() {
      clear();
      progress.stop();
      await state.close();
      await (await clients)?.close();
    },
  };
  return context;
}
