import { existsSync } from 'node:fs';
import { parseAgentReference } from '../../../api/references.ts';
import {
  decisiveOf,
  runTests,
  secondsOf,
  type TestOptions,
  type TestResult,
  type TestStatus,
} from '../../../chat/run-tests.ts';
import { findCases, type TestAudience } from '../../../chat/test-cases.ts';
import { type ConversationTest, parseConversations } from '../../../chat/test-file.ts';
import type { Context } from '../../../cli/context.ts';
import { PartnerctlError, UsageError } from '../../../errors.ts';
import { type Batch, batchResult, countByStatus } from '../../../output/batch-result.ts';
import { type Column, type CommandResult, type ReportLine, recordResult } from '../../../output/command-result.ts';
import { describeError, errorJson } from '../../../output/error-text.ts';
import { readManifests } from '../../../provision/read-manifests.ts';
import { type Selection, spaceSelector } from '../../../provision/select.ts';
import { readVariables, type VariableOptions, type Variables } from '../../../provision/variables.ts';
import { problemsError } from '../../../yaml/problem.ts';
import { readSources } from '../../../yaml/sources.ts';

interface TestFlags extends TestOptions, Selection, VariableOptions {
  readonly source?: string | undefined;
  readonly agent?: string | undefined;
  readonly space?: string | undefined;
  readonly manifests: readonly string[];
  readonly limit?: number | undefined;
  readonly junit?: string | undefined;
  readonly check?: boolean | undefined;
  readonly dryRun?: boolean | undefined;
  readonly confirm?: string | undefined;
}

const TONES: Readonly<Record<TestStatus, 'good' | 'bad' | 'warn'>> = {
  passed: 'good',
  failed: 'bad',
  no_reply: 'bad',
  error: 'warn',
};

const nameOf = ({ test, external_space_id: space }: TestResult): string =>
  space === null ? test : `${test}, ${space}`;

/** `4 of 5`; nothing for a conversation that was to be held once. */
const runsOf = ({ runs, passed }: TestResult): string | null => (runs > 1 ? `${passed} of ${runs}` : null);

/** Where it failed: the expectation that did not hold, or else the conversation. */
const placeOf = ({ turns, source }: TestResult): string => turns.flatMap((turn) => turn.failures)[0]?.source ?? source;

function noteOf(result: TestResult): string | null {
  return result.error === undefined ? null : `${placeOf(result)}: ${describeError(result.error)}`;
}

const COLUMNS: readonly Column<TestResult>[] = [
  { header: 'STATUS', value: ({ status }) => status.replace('_', ' '), tone: ({ status }) => TONES[status] },
  { header: 'TEST', value: ({ test }) => test, fit: 'end' },
  { header: 'CUSTOMER', value: ({ external_space_id: id, space_id }) => id ?? space_id, fit: 'end' },
  { header: 'AGENT', value: ({ agent, agent_id }) => agent ?? agent_id, fit: 'end', isOptional: true },
  { header: 'PASSED', value: runsOf, isOptional: true },
  { header: 'SECONDS', value: (result) => Number(secondsOf([result])), isOptional: true },
  { header: 'SESSION', value: ({ session_id }) => session_id, isWide: true, tone: () => 'dim' },
  { header: 'NOTE', value: noteOf, isNote: true },
];

const answersOf = (replies: readonly string[]): readonly string[] =>
  replies.length === 0 ? ['(no reply)'] : replies.map((reply) => `agent: ${reply}`);

/** What was said, for the summary of CI and for JUnit. */
function transcriptOf({ turns, session_id }: TestResult): readonly string[] {
  const said = turns.flatMap(({ say, replies }) => [`user: ${say}`, ...answersOf(replies)]);
  return session_id === null ? said : [`session ${session_id}`, ...said];
}

const TESTS: Batch<TestResult> = {
  columns: COLUMNS,
  noun: 'conversations',
  documentField: 'results',
  item: (result) => {
    const { status, error, isUnfinished } = result;
    return {
      name: nameOf(result),
      source: placeOf(result),
      status,
      error,
      isUnfinished,
      lines: () => (error ? transcriptOf(result).map((text): ReportLine => ({ indent: 4, text })) : []),
    };
  },
  json({ index: _, isUnfinished: __, error, turns, ...result }) {
    const shown = turns.map(({ say, replies, seconds, failures }) => ({
      say,
      reply: replies.length === 0 ? null : replies.join('\n'),
      seconds,
      failures: failures.map(({ source, ...failure }) => ({ line: Number(source.split(':').at(-1)), ...failure })),
    }));
    return { ...result, turns: shown, error: errorJson(error) };
  },
  decisive: decisiveOf,
  counts: (results) => countByStatus(results, TONES),
};

/** Reads the conversations. @throws InputError that shows every mistake; nothing was sent then */
async function readConversations({ io, abortSignal }: Context, files: readonly string[], { lookup }: Variables) {
  if (files.length === 0) {
    throw new UsageError('No conversation is given.', {
      hint: 'Give a YAML file, a directory, or - for standard input.',
    });
  }
  const sources = await readSources(files, io.stdin, abortSignal);
  const { conversations, problems } = parseConversations(sources, { lookup, exists: existsSync });
  if (problems.length > 0) throw problemsError(problems);
  return conversations;
}

/** Finds out whom to test. @throws UsageError if the options contradict each other; as `readManifests` */
async function readAudience(context: Context, flags: TestFlags, variables: Variables): Promise<TestAudience> {
  const { source, agent: typed, space, manifests, limit, only, exclude } = flags;
  const agent = typed === undefined ? undefined : parseAgentReference(typed);
  if (manifests.length === 0) {
    if (source === undefined) return { spaces: [space], agent };
    if (agent === undefined && space === undefined) return { source_id: source };
    throw new UsageError('--source names the agent: leave out --agent and --space.');
  }
  if (source !== undefined || space !== undefined) {
    throw new UsageError('--manifests names the spaces: leave out --source and --space.');
  }
  const documents = await readManifests(context, manifests, flags, variables);
  const ids = documents.map(({ manifest }) => manifest.external_space_id);
  const selected = ids.filter(await spaceSelector(ids, { only, exclude }));
  return { spaces: selected.slice(0, limit).map((id) => `ext:${id}`), agent };
}

const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? '' : 's'}`;

/** @param sessions how many conversations will be held, repeats included */
function planOf(tests: readonly ConversationTest[], audience: TestAudience, sessions: number) {
  const spaces = 'spaces' in audience ? audience.spaces.length : 1;
  const where = 'spaces' in audience ? ` in ${count(spaces, 'space')}` : '';
  const text = `Testing ${count(tests.length, 'conversation')}${where}: ${count(sessions, 'session')}.`;
  return { text, json: { conversations: tests.length, spaces, sessions } };
}

/**
 * Reads and checks everything, then holds the conversations.
 * @throws InputError for mistakes in files, UsageError for flags that do not fit; nothing was sent then
 */
export async function testConversations(
  context: Context,
  files: readonly string[],
  flags: TestFlags,
): Promise<CommandResult> {
  const variables = await readVariables(context, flags);
  const tests = await readConversations(context, files, variables);
  if (flags.check) {
    await context.notice(`${count(tests.length, 'conversation')} checked; nothing was sent.`);
    return { kind: 'none' };
  }
  const audience = await readAudience(context, flags, variables);
  const http = await context.http();
  context.progress.start('Looking for the agents');
  const cases = await findCases(http, tests, audience, context.command);
  const missing = cases.flatMap(({ target: { external_space_id: space }, source: error }) =>
    error instanceof PartnerctlError ? [{ error, text: [space ?? [], describeError(error)].flat().join(': ') }] : [],
  );
  const plan = planOf(tests, audience, (cases.length - missing.length) * flags.repeat);
  for (const text of new Set(missing.map((each) => each.text))) await context.warn(text);
  if (flags.dryRun) return { ...recordResult(plan.json), failure: missing[0]?.error };
  await context.notice(plan.text);
  await context.prompts.confirmWrite(flags.confirm);
  const { junit: path } = flags;
  const { progress, signals, warn } = context;
  const held = runTests(context, http, cases, flags);
  const results =
    path === undefined ? held : (await import('./junit.ts')).recordJunit(held, { path, warn }, transcriptOf);
  progress.start('Testing');
  const onResult = (done: number): void => progress.update(`Testing: ${done} of ${cases.length} conversations`);
  return batchResult(results, TESTS, signals, onResult);
}
