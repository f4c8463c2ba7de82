import { randomBytes } from 'node:crypto';
import { basename } from 'node:path';
import type { Context } from '../../cli/context.ts';
import { readFileChunks } from '../../cli/input.ts';
import { readTrace, type Trace, unreadableTrace } from '../../contract-changes/read-trace.ts';
import { PartnerctlError, UsageError } from '../../errors.ts';
import type { Check } from '../check.ts';
import type { Facts } from '../facts.ts';
import { buildBundle } from './build-bundle.ts';
import { fromTrace, type SeenExchange } from './exchange.ts';
import { writeBundle } from './write-bundle.ts';

/** What the user asked for. */
export interface BundleRequest {
  readonly path: string;
  readonly isForced: boolean;
  /** A file that `--debug-file` wrote. */
  readonly include: string | undefined;
}

/** What was written. */
export interface SavedBundle {
  readonly path: string;
  readonly bytes: number;
  readonly exchanges: number;
}

/**
 * Reads the requests of a trace that went to the configured service.
 * @throws UsageError if none is configured, InputError for a file that is no trace
 */
export async function readIncluded(path: string, context: Context): Promise<Trace> {
  const { abortSignal: signal, redact, addSecret } = context;
  const { baseUrl } = await context.contractKey();
  const { origin, pathname } = new URL(baseUrl);
  const service = { origin, basePath: pathname.replace(/\/$/, '') };
  let trace: Trace;
  try {
    trace = await readTrace(readFileChunks(path, signal), { name: path, service, redact, addSecret });
  } catch (error) {
    signal.throwIfAborted();
    throw error instanceof PartnerctlError ? error : unreadableTrace(path, error);
  }
  if (trace.exchanges.length > 0) return trace;
  const [other] = trace.foreign.keys();
  throw new UsageError(`${path} has no request to ${origin} that was answered.`, {
    ...(other !== undefined && { why: `It was recorded against ${other}.` }),
    hint: 'Record one with: partnerctl <command> --debug-file <path>. Nothing was written.',
  });
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}

async function tell({ notice, warn }: Context, saved: SavedBundle, trace: Trace | undefined, omitted: number) {
  const { path, bytes, exchanges } = saved;
  await notice(`Wrote ${path} (${count(bytes, 'byte')}), which only you can read.`);
  await notice(
    `In it: versions, settings and their sources, the checks, the contract, counts of the state's records, and ${count(exchanges, 'request')} with the responses.`,
  );
  await notice(
    'Left out: tokens, passwords, and request headers. Replaced by pseudonyms of the same form: ids, names, texts, and every other value but words that services use. Names of fields and addresses of services stay.',
  );
  const skipped = omitted + (trace?.skipped ?? 0) + [...(trace?.foreign.values() ?? [])].reduce((a, b) => a + b, 0);
  if (skipped > 0)
    await notice(
      `Not in it: ${count(skipped, 'recorded request')} without a response, to another service, or over the limit.`,
    );
  if (trace !== undefined && trace.secretLines.length > 0)
    await warn(`The trace holds a token (line ${trace.secretLines[0]}); the bundle does not. Delete the trace.`);
  await notice(
    `Look at it before you send it. Replay it with: partnerctl sandbox run --replay ${basename(path)} -- partnerctl doctor`,
  );
}

/**
 * Builds the bundle and writes it.
 * @throws UsageError if the file exists, LocalError if it cannot be written
 */
export async function saveBundle(
  context: Context,
  { path, isForced }: BundleRequest,
  found: { readonly facts: Facts; readonly checks: readonly Check[]; readonly exchanges: readonly SeenExchange[] },
  trace: Trace | undefined,
): Promise<SavedBundle> {
  const { env, runtime, clock, redact } = context;
  const { lines, exchanges, omitted } = buildBundle({
    ...found,
    included: trace?.exchanges.map(fromTrace) ?? [],
    platform: runtime.platform,
    home: env.HOME ?? env.USERPROFILE,
    at: new Date(clock.now()).toISOString(),
    key: randomBytes(32),
    redact,
  });
  const bytes = await writeBundle(path, lines, isForced);
  const saved = { path, bytes, exchanges };
  await tell(context, saved, trace, omitted);
  return saved;
}
