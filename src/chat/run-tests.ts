import { randomUUID } from 'node:crypto';
import pLimit from 'p-limit';
import { postMessage } from '../api/calls.ts';
import type { Http } from '../api/http.ts';
import type { SessionRef } from '../contract/messages.ts';
import { EXIT, InterruptedError, LocalError, PartnerctlError, stopsRun, UnexpectedReplyError } from '../errors.ts';
import { emitted } from '../platform/emitted.ts';
import type { Environment } from '../platform/io.ts';
import { findMismatches, type Mismatch, toMismatch } from './expectations.ts';
import { testPauseMs } from './pace.ts';
import type { ChatContext } from './session.ts';
import type { ConversationTest, Turn } from './test-file.ts';
import { awaitReplies } from './wait.ts';

/** With whom a conversation is held. Null: neither the service nor the command line tells. */
export interface TestTarget {
  readonly external_space_id: string | null;
  readonly space_id: string | null;
  readonly agent_id: string | null;
  /** The name of the agent. */
  readonly agent: string | null;
}

/** A conversation with the agent of a space. */
export interface TestCase {
  readonly index: number;
  readonly test: ConversationTest;
  readonly target: TestTarget;
  /** The source_id of the agent, or why there is none, which is the outcome of the conversation. */
  readonly source: string | PartnerctlError;
}

interface TurnResult {
  readonly say: string;
  readonly replies: readonly string[];
  /** From the message to the last reply. */
  readonly seconds: number;
  readonly failures: readonly Mismatch[];
}

export type TestStatus = 'passed' | 'failed' | 'no_reply' | 'error';

export interface TestResult extends TestTarget {
  readonly index: number;
  readonly test: string;
  /** File and line of the conversation. */
  readonly source: string;
  readonly status: TestStatus;
  /** How often it was held, and how often it passed. */
  readonly runs: number;
  readonly passed: number;
  /** Of the first run that did not pass, else of the last one. */
  readonly turns: readonly TurnResult[];
  readonly session_id: string | null;
  readonly error: PartnerctlError | undefined;
  /** Whether it was not started, or not finished. */
  readonly isUnfinished: boolean;
}

/** How long the turns of conversations took, in seconds with one decimal. */
export function secondsOf(results: readonly TestResult[]): string {
  const turns = results.flatMap((result) => result.turns);
  return turns.reduce((total, { seconds }) => total + seconds, 0).toFixed(1);
}

export interface TestOptions {
  readonly concurrency: number;
  /** How often each conversation is held, and how often it has to pass. */
  readonly repeat: number;
  readonly pass: number;
}

interface TestRun {
  readonly context: ChatContext & { readonly env: Environment };
  readonly http: Http;
  readonly options: TestOptions;
  /** The error that every further conversation would get, too. */
  stoppedBy?: PartnerctlError;
}

/** One run of a conversation. */
interface Held {
  readonly session_id: string;
  readonly turns: readonly TurnResult[];
  readonly error: PartnerctlError | undefined;
}

/** Sends a message, and waits for its replies; one more than are expected shows if it comes at once. */
async function speak({ context, http, options }: TestRun, session: SessionRef, turn: Turn) {
  const { clock } = context;
  const startedAt = clock.now();
  const message = { ...session, external_message_id: randomUUID(), text: turn.say };
  const { message_id } = await postMessage(http, message);
  const criteria = { replies: turn.replies, isExact: true };
  const pace = { limitMs: turn.withinMs, activeMs: testPauseMs(options.concurrency) };
  const target = { ...session, after_message_id: message_id, criteria, ...pace, ids: {} };
  const { replies, failure, outage } = await awaitReplies(context, http, target, async () => undefined);
  // That nobody could look is not the agent's silence.
  const isSilence = failure?.exitCode === EXIT.noReply;
  return {
    replies: replies.map(({ text }) => text ?? ''),
    failure: isSilence ? (outage ?? failure) : failure,
    seconds: Math.round((clock.now() - startedAt) / 100) / 10,
  };
}

/** @throws LocalError for a judge that does not run to its end; as `judge` */
async function judgeTurn({ context }: TestRun, turn: Turn, transcript: object, leftMs: number) {
  const failures: Mismatch[] = [];
  const { env, abortSignal: signal } = context;
  for (const expectation of turn.expectations) {
    if (expectation.matcher !== 'run') continue;
    const { judge } = await import('./judge.ts');
    const { isAccepted, reason } = await judge(expectation.value, transcript, { env, leftMs, signal });
    if (!isAccepted) failures.push(toMismatch(expectation, reason));
  }
  return failures;
}

const countOf = (count: number): string => (count === 1 ? '1 reply' : `${count} replies`);

/** Holds a conversation once, until its end or the first turn that fails. */
async function hold(run: TestRun, { test, target }: TestCase, source_id: string): Promise<Held> {
  const session_id = `test-${randomUUID()}`;
  const turns: TurnResult[] = [];
  const { external_space_id: space, agent } = target;
  try {
    for (const turn of test.turns) {
      const { say, expectations, source } = turn;
      const { replies, failure, seconds } = await speak(run, { source_id, session_id }, turn);
      const failures: Mismatch[] = [];
      turns.push({ say, replies, seconds, failures });
      if (failure) return { session_id, turns, error: failure };
      failures.push(...findMismatches(expectations, replies.join('\n')));
      if (replies.length > turn.replies) {
        failures.push({ expected: countOf(turn.replies), got: countOf(replies.length), source });
      }
      if (failures.length === 0) {
        const said = turns.map((each) => ({ say: each.say, replies: each.replies }));
        const transcript = { test: test.name, space, agent, session_id, turns: said };
        failures.push(...(await judgeTurn(run, turn, transcript, turn.withinMs - seconds * 1000)));
      }
      const [first] = failures;
      if (!first) continue;
      const error = new UnexpectedReplyError(`Expected ${first.expected}.`, { why: `Got: ${first.got}` });
      return { session_id, turns, error };
    }
    return { session_id, turns, error: undefined };
  } catch (error) {
    if (!(error instanceof PartnerctlError)) throw error;
    return { session_id, turns, error };
  }
}

function statusOf(error: PartnerctlError | undefined): TestStatus {
  if (error === undefined) return 'passed';
  if (error.exitCode === EXIT.unexpectedReply) return 'failed';
  return error.exitCode === EXIT.noReply ? 'no_reply' : 'error';
}

function resultOf(
  { index, test, target }: TestCase,
  held: readonly Held[],
  more: { readonly error: PartnerctlError | undefined; readonly isUnfinished: boolean },
): TestResult {
  const shown = held.find(({ error }) => error !== undefined) ?? held.at(-1);
  return {
    index,
    test: test.name,
    source: test.source,
    ...target,
    status: statusOf(more.error),
    runs: held.length,
    passed: held.filter(({ error }) => error === undefined).length,
    turns: shown?.turns ?? [],
    session_id: shown?.session_id ?? null,
    ...more,
  };
}

/** Why no further conversation is held. */
function stopOf({ stoppedBy, context: { abortSignal } }: TestRun): PartnerctlError | undefined {
  return stoppedBy ?? (abortSignal.reason instanceof PartnerctlError ? abortSignal.reason : undefined);
}

async function runCase(run: TestRun, testCase: TestCase): Promise<TestResult> {
  const { repeat, pass } = run.options;
  const { source } = testCase;
  if (source instanceof PartnerctlError) return resultOf(testCase, [], { error: source, isUnfinished: false });
  const held: Held[] = [];
  while (held.length < repeat && !stopOf(run)) {
    const each = await hold(run, testCase, source);
    held.push(each);
    if (stopsRun(each.error)) run.stoppedBy ??= each.error;
  }
  const stop = stopOf(run);
  if (held.length === 0 && stop) {
    const error = stop instanceof InterruptedError ? stop : new LocalError(`Not held: ${stop.message}`);
    return resultOf(testCase, [], { error, isUnfinished: true });
  }
  const failures = held.flatMap((each) => each.error ?? []);
  const isEnough = held.length - failures.length >= pass;
  const error = failures.find(stopsRun) ?? (isEnough ? undefined : (failures[0] ?? stop));
  return resultOf(testCase, held, { error, isUnfinished: error instanceof InterruptedError });
}

/**
 * Holds conversations, each in a session of its own, several at a time. One that fails does not stop the others; a
 * refused token and an empty balance do.
 * @returns the results as they come
 */
export function runTests(
  context: TestRun['context'],
  http: Http,
  cases: readonly TestCase[],
  options: TestOptions,
): AsyncGenerator<TestResult> {
  const run: TestRun = { context, http, options };
  return emitted(async (emit) => {
    const limit = pLimit(options.concurrency);
    await Promise.all(cases.map((testCase) => limit(async () => void emit(await runCase(run, testCase)))));
  });
}

/** Which failure decides the exit code: what no conversation is to blame for, then a wrong answer, then none. */
export function decisiveOf(errors: readonly PartnerctlError[]): PartnerctlError | undefined {
  const services: readonly number[] = [EXIT.credentials, EXIT.balance, EXIT.rateLimited, EXIT.service];
  return (
    errors.find(({ exitCode }) => services.includes(exitCode)) ??
    errors.find(({ exitCode }) => exitCode === EXIT.unexpectedReply) ??
    errors.find(({ exitCode }) => exitCode === EXIT.noReply) ??
    errors[0]
  );
}
