import { setMaxListeners } from 'node:events';
import type { TokenOrigin } from '../api/call-errors.ts';
import type { Transport } from '../api/transport.ts';
import { configDirectory } from '../config/config-directory.ts';
import { readContractLayers } from '../config/contract-file.ts';
import type { GlobalFlags } from '../config/global-flags.ts';
import { isReadableByOthers, NO_PROFILES, type Profiles, readProfiles, updateProfiles } from '../config/profiles.ts';
import { contractProfile, namesServiceAndToken, requireBaseUrl, resolveBaseUrl } from '../config/settings.ts';
import { Contract } from '../contract/contract.ts';
import { LocalError } from '../errors.ts';
import { shouldUseColor } from '../output/color.ts';
import type { Progress } from '../output/progress.ts';
import { sanitizeLine } from '../output/sanitize.ts';
import type { Clock } from '../platform/clock.ts';
import type { Environment, Io, Sink } from '../platform/io.ts';
import type { Context, Signals } from './context.ts';
import { createPrompts } from './prompts.ts';
import { connect, connectPublicly, findService, type ServiceAccess, type ServiceDeps } from './service.ts';
import { shellCommand } from './shell-command.ts';
import { createState } from './state-access.ts';

/** What `main` needs. Tests provide their own. */
export interface RuntimeDeps {
  readonly io: Io;
  readonly env: Environment;
  readonly clock: Clock;
  readonly random: () => number;
  readonly signals: Signals;
  readonly platform: NodeJS.Platform;
  /** The user's home directory. */
  readonly home: string;
  readonly version: string;
  readonly nodeVersion: string;
  /** The command that started this program: the path of node and the path of the script. */
  readonly selfCommand: readonly string[];
  /** The terminal behind stderr, for the spinner and for questions. */
  readonly terminal: NodeJS.WritableStream;
}

/** The parts of a context that exist before it. */
export interface ContextParts {
  readonly progress: Progress;
  readonly addSecret: (text: string) => void;
  readonly revealSecret: (text: string) => void;
  readonly redact: (text: string) => string;
}

/** The longest delay of a Node timer; a longer one fires immediately. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Creates a signal that aborts on interruption and at the time limit, if there is one. */
function createDeadline(timeoutMs: number | undefined, clock: Clock, interrupt: AbortSignal) {
  const timeout = new AbortController();
  const fail = (): void =>
    timeout.abort(
      new LocalError('The command did not finish within --timeout.', { hint: 'Allow more time with --timeout.' }),
    );
  const timer = timeoutMs === undefined ? undefined : setTimeout(fail, Math.min(timeoutMs, MAX_TIMER_MS));
  const signal = AbortSignal.any([interrupt, timeout.signal]);
  // Node warns about more than ten listeners, and every concurrent operation adds one.
  setMaxListeners(0, signal);
  return {
    /** Milliseconds since the epoch. */
    at: timeoutMs === undefined ? undefined : clock.now() + timeoutMs,
    signal,
    clear: () => clearTimeout(timer),
  };
}

/** Creates access to the profiles. Reads them once, and redacts their tokens from all later output. */
function createConfig(
  { env, platform, home }: RuntimeDeps,
  addSecret: (text: string) => void,
  warn: Context['warn'],
): Context['config'] {
  const directory = configDirectory(env, platform, home);
  let profiles: Promise<Profiles> | undefined;
  async function readAndCheck(): Promise<Profiles> {
    const stored = await readProfiles(directory);
    const tokens = Object.values(stored.profiles).flatMap(({ token }) => token ?? []);
    for (const token of tokens) addSecret(token);
    if (tokens.length > 0 && isReadableByOthers(directory, platform)) {
      await warn(`Other users can read the tokens in ${directory}. Run: chmod 600 ${directory}/config.json`);
    }
    return stored;
  }
  return {
    directory,
    read() {
      profiles ??= readAndCheck();
      return profiles;
    },
    async update(change) {
      profiles = Promise.resolve(await updateProfiles(directory, change));
    },
  };
}

/** Creates clients for the configured service and for others. `close` closes all their connections. */
function createClients(parts: ServiceDeps, config: Context['config'], addSecret: (text: string) => void) {
  const { flags, env } = parts;
  const transports: Transport[] = [];
  function open(access: ServiceAccess) {
    addSecret(access.token);
    const { http, transport } = connect(access, parts);
    transports.push(transport);
    return http;
  }
  return {
    async httpTo(baseUrl: string, token: string, tokenOrigin: TokenOrigin) {
      const profile = contractProfile(flags, env, await config.read());
      return open({ baseUrl, token, tokenOrigin, contract: await parts.readContract({ profile, baseUrl }) });
    },
    async http() {
      // -v also shows which profile settings are overridden.
      const needsProfiles = !namesServiceAndToken(flags, env) || flags.verbose || flags.debug;
      // Otherwise, only hints use the profiles, so that a damaged file does not matter.
      const read = needsProfiles ? config.read() : readProfiles(config.directory).catch(() => NO_PROFILES);
      return open(await findService(await read, parts));
    },
    baseUrl: async () => resolveBaseUrl(flags, env, await config.read()),
    async contractKey() {
      const profiles = await config.read();
      const baseUrl = requireBaseUrl(flags, env, profiles);
      return { profile: contractProfile(flags, env, profiles), baseUrl };
    },
    async fetchDocument(url: URL) {
      const { transport, options } = connectPublicly(url, parts);
      transports.push(transport);
      const { fetchDocument } = await import('../api/fetch-document.ts');
      return fetchDocument(url, options);
    },
    async close() {
      await Promise.all(transports.map((transport) => transport.close()));
    },
  };
}

/** Creates a function that writes notices and warnings in the order of its calls, wrapped in a terminal. */
function createMessageWriter(stderr: Sink, progress: Progress): (text: string) => Promise<void> {
  let written = Promise.resolve();
  const write = async (text: string): Promise<void> => {
    const { isTTY, columns } = stderr;
    // Load the code that measures text only for lines that may be too long.
    const isShort = !isTTY || text.length * 2 <= columns;
    const lines = isShort ? text : (await import('../output/wrap.ts')).wrapText(text, columns, '  ');
    await progress.pauseDuring(() => stderr.write(`${lines}\n`));
  };
  return (text) => {
    const line = sanitizeLine(text);
    if (!stderr.isTTY) return write(line);
    written = written.then(() => write(line));
    return written;
  };
}

/** Creates the function that shows what happens to a request. */
function createTraceWriter(progress: Progress, log: (text: string) => Promise<void>): ServiceDeps['show'] {
  return ({ lines, progress: detail, wait }) => {
    if (detail !== undefined) progress.detail(detail);
    if (wait) progress.countdown(wait.ms, (left) => `waiting ${left} ${wait.why}`);
    for (const line of lines) void log(line);
  };
}

/** Whether the command may ask questions. */
function mayAsk({ io, env }: RuntimeDeps, { input }: GlobalFlags): boolean {
  return input && io.stderr.isTTY && !env.CI && io.stdin.isTTY === true;
}

/**
 * Creates a command's context. Reads no file and opens no connection until the command needs one.
 * The caller must call `close` when the command ends.
 */
export function createContext(
  deps: RuntimeDeps,
  flags: GlobalFlags,
  contextParts: ContextParts,
): Context & { close(): Promise<void> } {
  const { io, env, clock, random, signals, selfCommand } = deps;
  const { progress, addSecret, revealSecret, redact } = contextParts;
  const deadline = createDeadline(flags.timeout, clock, signals.interrupt);
  const log = (text: string): Promise<void> => progress.pauseDuring(() => io.stderr.write(`${sanitizeLine(text)}\n`));
  const writeMessage = createMessageWriter(io.stderr, progress);
  const warn = (text: string): Promise<void> => writeMessage(`warning: ${text}`);
  const config = createConfig(deps, addSecret, warn);
  const { close, ...clients } = createClients(
    {
      flags,
      env,
      io,
      clock,
      random,
      interrupt: signals.interrupt,
      ended: deadline.signal,
      readContract: async (key) => new Contract(await readContractLayers(config.directory, key, warn)),
      userAgent: `partnerctl/${deps.version} (node ${deps.nodeVersion}; ${deps.platform})`,
      deadline: deadline.at,
      redact,
      log,
      onWarning: (text) => void warn(text),
      show: createTraceWriter(progress, log),
    },
    config,
    addSecret,
  );
  const hasColor = shouldUseColor(flags.color, env, io.stderr);
  const state = createState(deps, { ...contextParts, abortSignal: deadline.signal, config, flags, warn });
  const context: Context & { close(): Promise<void> } = {
    io,
    env,
    clock,
    random,
    signals,
    abortSignal: deadline.signal,
    flags,
    progress,
    command: (words: readonly string[], operands?: readonly string[]) => shellCommand(words, flags, operands),
    confirmWrite: async (name: string | undefined) => (await import('./confirm-write.ts')).confirmWrite(context, name),
    runtime: deps,
    selfCommand,
    addSecret,
    revealSecret,
    redact,
    warn,
    notice: async (text: string) => (flags.quiet ? undefined : writeMessage(text)),
    get isInteractive() {
      return mayAsk(deps, flags);
    },
    hasColor,
    config,
    ...createPrompts(deps, contextParts, { signal: deadline.signal, hasColor }),
    ...clients,
    ...state,
    async close() {
      deadline.clear();
      progress.stop();
      await state.close();
      await close();
    },
  };
  return context;
}
