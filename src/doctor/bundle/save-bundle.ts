import { randomBytes } from 'node:crypto';
import type { Context } from '../../cli/context.ts';
import { readFileChunks } from '../../cli/input.ts';
import { readTrace, type Trace, unreadableTrace } from '../../contract-changes/read-trace.ts';
import { PartnerctlError, UsageError } from '../../errors.ts';
import { shellQuote } from '../../shell-quote.ts';
import type { Check } from '../check.ts';
import type { Facts } from '../facts.ts';
import { buildBundle } from './build-bundle.ts';
import { fromTrace, type SeenExchange } from './exchange.ts';
import { writeBundle } from './write-bundle.ts';

/** The flags of `doctor --bundle`. */
export interface BundleRequest {
  readonly path: string;
  readonly isForced: boolean;
  /** A file that `--debug-file` wrote. */
  readonly include: string | undefined;
}

/** A bundle that was written. */
export interface SavedBundle {
  readonly path: string;
  readonly bytes: number;
  readonly exchanges: number;
}

/**
 * Reads the requests of a trace that went to the configured service.
 * @throws UsageError if no service is configured, InputError for a file that is not a trace
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
  throw new UsageError(`${path} has no request to ${origin} with a response.`, {
    ...(other !== undefined && { why: `It was recorded against ${other}.` }),
    hint: 'Record one with: partnerctl <command> --debug-file <path>. Nothing was written.',
  });
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}

function describe({ path, bytes, exchanges }: SavedBundle, trace: Trace | undefined, omitted: number): string {
  const foreign = [...(trace?.foreign.values() ?? [])].reduce((sum, each) => sum + each, 0);
  const skipped = omitted + (trace?.skipped ?? 0) + foreign;
  const lines = [
    `Wrote ${path} (${count(bytes, 'byte')}), which only you can read.`,
    `It contains: versions, settings and their sources, these checks, the contract, how many records the state has, and ${count(exchanges, 'request')} with the responses.`,
    'Left out: tokens, passwords, and request headers. Replaced with pseudonyms: ids, names, and texts. Kept: field names and the URL of the service.',
    ...(skipped === 0
      ? []
      : [
          `Also left out: ${count(skipped, 'recorded request')} without a response, to another service, or over the limit.`,
        ]),
    'Review it before you send it.',
  ];
  return lines.join('\n');
}

/**
 * Builds the bundle and writes it.
 * @returns what was written, and a description for people
 * @throws UsageError if the file exists, LocalError if it cannot be written
 */
export async function saveBundle(
  context: Context,
  { path, isForced }: BundleRequest,
  found: { readonly facts: Facts; readonly checks: readonly Check[]; readonly exchanges: readonly SeenExchange[] },
  trace: Trace | undefined,
): Promise<{ readonly saved: SavedBundle; readonly description: string }> {
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
  const [line] = trace?.secretLines ?? [];
  if (line !== undefined)
    await context.warn(`The trace contains a token (line ${line}); the bundle does not. Delete the trace.`);
  return { saved, description: describe(saved, trace, omitted) };
}
