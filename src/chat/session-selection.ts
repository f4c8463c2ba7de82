import { agentFlags } from '../cli/agent-args.ts';
import type { Args, FlagSpec, RequiredFlag } from '../cli/command.ts';
import type { TextSource } from '../cli/input.ts';
import { UsageError } from '../errors.ts';
import { type SessionRef, sessionKey } from '../state-old/session-ref.ts';
import { parseSource, REQUIRED_SESSION, type SourceInput } from './session-args.ts';

/** How the command line names the sessions to follow. */
export type SessionSelection =
  | { readonly from: 'source'; readonly source: SourceInput; readonly sessions: readonly string[] }
  | { readonly from: 'sources'; readonly sessions: readonly SessionRef[] }
  | { readonly from: 'pairs'; readonly pairs: TextSource };

export const SESSION_SELECTION_FLAGS: readonly FlagSpec[] = [
  {
    usage: '--source <source_id>',
    description:
      "the agent's API chat source; get it with `chat setup`. Repeatable: each --session belongs to the --source before it",
    repeatable: true,
  },
  ...agentFlags('in place of --source: '),
  { usage: '--session <session_id>', description: 'the conversation; repeatable', repeatable: true },
  {
    usage: '--pairs <path>',
    description:
      'in place of --source and --session: a file with a source_id and a session_id per line, or - for stdin',
  },
];

export const REQUIRED_SESSION_SELECTION: readonly RequiredFlag[] = REQUIRED_SESSION.map((flag) => ({
  ...flag,
  unless: ['pairs'],
}));

/** Assigns each --session to the --source before it. @throws UsageError */
function parseSources(args: Args): readonly SessionRef[] {
  const found = new Map<string, SessionRef>();
  let source_id: string | undefined;
  const typed = args.inOrder(['source', 'session']);
  for (const [index, { flag, value }] of typed.entries()) {
    if (flag === 'source') {
      if (typed[index + 1]?.flag !== 'session') {
        throw new UsageError(`--source ${value} has no --session after it.`, {
          hint: 'With several sources, each --session belongs to the --source before it.',
        });
      }
      source_id = value;
    } else if (source_id !== undefined) {
      const ref = { source_id, session_id: value };
      found.set(sessionKey(ref), ref);
    } else {
      throw new UsageError(`--session ${value} comes before the first --source.`, {
        hint: 'With several sources, each --session belongs to the --source before it.',
      });
    }
  }
  return [...found.values()];
}

function parsePairsFlag(args: Args, path: string): SessionSelection {
  const other = ['source', 'agent', 'space', 'session'].find(
    (flag) => args.value(flag) !== undefined || args.values(flag).length > 0,
  );
  if (other !== undefined) throw new UsageError(`--pairs and --${other} cannot be combined.`);
  if (path === '') throw new UsageError('--pairs is empty.', { hint: 'Check the shell variable it comes from.' });
  return { from: 'pairs', pairs: path === '-' ? { from: 'stdin' } : { from: 'file', path } };
}

/** Parses the flags of SESSION_SELECTION_FLAGS. @throws UsageError if they name no session, or one without its source */
export function parseSessionSelection(args: Args): SessionSelection {
  const pairs = args.value('pairs');
  if (pairs !== undefined) return parsePairsFlag(args, pairs);
  const sources = args.values('source');
  const sessions = [...new Set(args.values('session'))];
  if (sources.includes('')) throw new UsageError('--source is empty.');
  if (sessions.includes('')) throw new UsageError('--session is empty.');
  if (sources.length > 1) {
    if (args.value('agent') !== undefined || args.value('space') !== undefined) parseSource(args);
    return { from: 'sources', sessions: parseSources(args) };
  }
  return { from: 'source', source: parseSource(args), sessions };
}
