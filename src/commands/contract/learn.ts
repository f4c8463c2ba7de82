import { createHash } from 'node:crypto';
import { type Args, command } from '../../cli/command.ts';
import type { Context } from '../../cli/context.ts';
import { readFileChunks, readStdin, refuseTokenOnStdin } from '../../cli/input.ts';
import {
  type ContractKey,
  readContractLayers,
  type StoredContract,
  updateContract,
  updateObserved,
} from '../../config/contract-file.ts';
import { Contract } from '../../contract/contract.ts';
import type { AmbiguousLeaf, LearnedValue } from '../../contract/learn/evidence.ts';
import { proposeFromTrace } from '../../contract/learn/propose.ts';
import type { LeafName } from '../../contract/leaves.ts';
import type { OpenQuestion } from '../../contract/proposal.ts';
import { compareProposals, type ProposedChange } from '../../contract-changes/compare-proposals.ts';
import { findLeaf } from '../../contract-changes/find-leaf.ts';
import { readTrace, type Trace, unreadableTrace } from '../../contract-changes/read-trace.ts';
import { CHANGE_COLUMNS, mayWrite, summarizeReview } from '../../contract-changes/review.ts';
import { InputError, PartnerctlError, UsageError } from '../../errors.ts';
import { type CommandResult, listResult } from '../../output/command-result.ts';

interface Input {
  readonly path: string;
  readonly only: readonly LeafName[];
  readonly yes: boolean;
  readonly accept: boolean;
  /** The origin that the trace was recorded against, if it is not the configured one. */
  readonly origin: string | undefined;
}

/** @throws UsageError unless it is an http or https URL */
function parseOrigin(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url && /^https?:$/.test(url.protocol)) return url.origin;
  throw new UsageError('--origin is not a URL.', {
    hint: 'Give the scheme and the host, such as https://staging.example.com',
  });
}

function parse(args: Args): Input {
  return {
    path: args.positionals[0] ?? '',
    only: args.values('only').map(findLeaf),
    yes: args.isSet('yes'),
    accept: args.isSet('accept'),
    origin: parseOrigin(args.value('origin')),
  };
}

interface HashedTrace extends Trace {
  readonly sha256: string;
}

interface TracedService {
  readonly origin: string;
  /** The path of the base URL, without a trailing slash. */
  readonly basePath: string;
}

async function readHashed(context: Context, path: string, service: TracedService): Promise<HashedTrace> {
  const { abortSignal, addSecret, flags, io, redact } = context;
  if (path === '-') refuseTokenOnStdin(flags, 'trace');
  // The trace may contain tokens of the profiles, which reading them adds to the redactor.
  await context.config.read();
  const name = path === '-' ? '<stdin>' : path;
  const hash = createHash('sha256');
  async function* hashed(): AsyncGenerator<Buffer | string> {
    for await (const chunk of path === '-' ? readStdin(io.stdin, abortSignal) : readFileChunks(path, abortSignal)) {
      hash.update(chunk);
      yield chunk;
    }
  }
  try {
    const trace = await readTrace(hashed(), { name, service, redact, addSecret });
    return { ...trace, sha256: hash.digest('hex') };
  } catch (error) {
    abortSignal.throwIfAborted();
    throw error instanceof PartnerctlError ? error : unreadableTrace(name, error);
  }
}

/** @throws InputError for a trace without exchanges of the service */
function refuseEmpty({ exchanges, foreign, skipped }: Trace, origin: string): void {
  if (exchanges.length > 0) return;
  const [other] = [...foreign].toSorted(([, left], [, right]) => right - left);
  if (other) {
    throw new InputError(`The trace was recorded against ${other[0]}, not against ${origin}.`, {
      why: 'Another service may use another wire format.',
      hint: `Choose its profile or --base-url. If both are the same service, add: --origin ${other[0]}`,
    });
  }
  throw new InputError('There is nothing to learn from the trace.', {
    why: skipped > 0 ? 'It has no request below the base URL with a response.' : 'It is empty.',
    hint: 'Record one with: partnerctl <command> --debug-file <path>',
  });
}

/** Returns the rows for leaves with evidence for several values. */
function toRows(ambiguous: readonly AmbiguousLeaf[], contract: Contract): readonly ProposedChange[] {
  return ambiguous.map(({ leaf, candidates }) => {
    const { value: old, source } = contract.leaf(leaf);
    return {
      leaf,
      old,
      new: candidates.map(({ value }) => value).join(' or '),
      old_source: source,
      status: 'ambiguous',
      evidence: candidates.map(({ value, evidence }) => `${value}: ${evidence}`).join('; '),
    };
  });
}

/** Formats an open question, with the command that answers it. */
function describeQuestion({ leaf, message }: OpenQuestion): string {
  const sentence = message.endsWith('.') ? message : `${message}.`;
  if (leaf === null) return sentence;
  const value = leaf.endsWith('.next') ? 'page:<parameter>' : '<value>';
  return `${sentence} If you know it, run: partnerctl contract set ${leaf} '${value}'`;
}

/** Warns about tokens in the trace, and counts the skipped requests. */
async function reportSkipped({ secretLines, foreign, skipped }: Trace, { warn, notice }: Context): Promise<void> {
  const [line] = secretLines;
  if (line !== undefined) {
    const lines = secretLines.length === 1 ? `line ${line}` : `line ${line} and ${secretLines.length - 1} more`;
    await warn(`The trace contains a token (${lines}). Delete the file; if anyone else has it, replace the token.`);
  }
  for (const [origin, count] of foreign) await notice(`skipped: ${count} requests to ${origin}`);
  if (skipped > 0) await notice(`skipped: ${skipped} requests without a response or outside the base URL`);
}

/** Stores observed values. Removes imported ones of the same leaves, which the service has contradicted. */
async function write(context: Context, key: ContractKey, values: readonly LearnedValue[]): Promise<void> {
  const { config, clock, random, abortSignal: signal } = context;
  const deps = { clock, random, signal };
  const observed = new Map(values.map(({ leaf, value }) => [leaf, value]));
  await updateObserved(config.directory, key.baseUrl, observed, deps);
  const { imported = {} } = await readContractLayers(config.directory, key);
  if (!values.some(({ leaf }) => Object.hasOwn(imported, leaf))) return;
  const change = (stored: StoredContract): StoredContract => ({
    ...stored,
    imported: Object.fromEntries(
      Object.entries(stored.imported).filter(([leaf]) => !values.some((each) => each.leaf === leaf)),
    ),
  });
  await updateContract(config.directory, key, change, deps);
}

async function run(context: Context, input: Input): Promise<CommandResult> {
  const key = await context.contractKey();
  const base = new URL(key.baseUrl);
  const service = { origin: input.origin ?? base.origin, basePath: base.pathname.replace(/\/$/, '') };
  const trace = await readHashed(context, input.path, service);
  await reportSkipped(trace, context);
  refuseEmpty(trace, service.origin);
  const layers = await readContractLayers(context.config.directory, key);
  const contract = new Contract(layers);
  const isChosen = ({ leaf }: { readonly leaf: LeafName }) => input.only.length === 0 || input.only.includes(leaf);
  const { proposals, ambiguous, missing, questions } = proposeFromTrace(trace.exchanges, contract, service);
  const chosen = proposals.filter(isChosen);
  const { changes: certain, confirmed } = compareProposals(chosen, layers);
  const changes = [...certain, ...toRows(ambiguous.filter(isChosen), contract)];
  const review = { origin: 'trace', yes: input.yes, accept: input.accept };
  const isWritten = (await mayWrite(changes, review, context)) && certain.length > 0;
  const changed = chosen.filter(({ leaf }) => certain.some((change) => change.leaf === leaf));
  if (isWritten) await write(context, key, changed);
  for (const question of questions) await context.notice(`open: ${describeQuestion(question)}`);
  await context.notice(summarizeReview(changes, review, isWritten ? { source: 'observed', unchanged: 0 } : undefined));
  const { sha256, exchanges } = trace;
  const lines = new Map(proposals.map((each) => [each.leaf, each.lines]));
  return listResult(changes, CHANGE_COLUMNS, {
    empty: '',
    document: () => ({
      trace: { from: input.path === '-' ? '<stdin>' : input.path, sha256, exchanges: exchanges.length },
      written: isWritten,
      changes: certain.map((change) => ({ ...change, lines: lines.get(change.leaf) ?? [] })),
      ambiguous: ambiguous.filter(isChosen),
      confirmed,
      missing,
      questions,
    }),
  });
}

export default command<Input>({
  description:
    'Reads the wire format from requests to this service that --debug-file recorded, and shows what would change, with the lines of evidence. Writes only with --yes, or after a yes at the prompt. Sends nothing.',
  args: [{ usage: '<trace>', description: 'the file that --debug-file wrote, or - for standard input' }],
  flags: [
    { usage: '--yes', description: 'write the changes' },
    { usage: '--accept', description: 'also accept values that contradict the specification' },
    { usage: '--only <leaf>', description: 'learn only this value; repeatable', repeatable: true },
    {
      usage: '--origin <url>',
      description: 'the trace was recorded against this other URL of the same service, such as staging',
    },
  ],
  columns: CHANGE_COLUMNS,
  output: async () => (await import('../../output-schemas/contract.ts')).CONTRACT_LEARN,
  exits: [],
  examples: [
    { line: 'partnerctl contract learn trace.jsonl', does: 'show what the recorded traffic would change' },
    { line: 'partnerctl contract learn trace.jsonl --yes', does: 'write it' },
    {
      line: 'partnerctl contract learn trace.jsonl --only spaces.list.items --yes',
      does: 'learn one value',
    },
  ],
  parse,
  run,
});
