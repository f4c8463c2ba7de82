import { basename, extname } from 'node:path';
import * as v from 'valibot';
import { type AgentReference, parseAgentReference } from '../api/references.ts';
import { parseDuration } from '../platform/clock.ts';
import { errorMessage } from '../platform/error-code.ts';
import { readYaml } from '../yaml/check.ts';
import { fileAndLine, type YamlDocument } from '../yaml/document.ts';
import type { Lookup } from '../yaml/interpolate.ts';
import { jsonSchema } from '../yaml/json-schema.ts';
import type { Problem, YamlSource } from '../yaml/problem.ts';
import { identifier, mapping, nonBlankText } from '../yaml/schema.ts';
import { type Expectation, MATCHERS, parsePattern } from './expectations.ts';

const DEFAULT_WITHIN_MS = 60_000;
const MAX_REPLIES = 100;

const text = (description: string) => v.exactOptional(v.pipe(v.string(), v.description(description)));

interface Files {
  /** Whether there is a file at a path. */
  readonly exists: (path: string) => boolean;
}

function mistakeInPattern(pattern: string): string | undefined {
  try {
    parsePattern(pattern);
    return undefined;
  } catch (error) {
    return `is no regular expression: ${errorMessage(error)}`;
  }
}

/** A command may begin with a path, whose file must be there. */
function mistakeInCommand(command: string, { exists }: Files): string | undefined {
  const [, file = ''] = /^\s*(\S+)/.exec(command) ?? [];
  if (!/^[\w./-]*\/[\w./-]*$/.test(file) || exists(file)) return undefined;
  return `there is no file ${file}: write its path from the current directory`;
}

/** @param mistakeIn says what is wrong with a text; nothing if it is right */
const checkedBy = (mistakeIn: (given: string) => string | undefined) =>
  v.check(
    (given: string) => mistakeIn(given) === undefined,
    ({ input }) => mistakeIn(input) ?? '',
  );

const expectationOf = (files: Files) =>
  v.pipe(
    mapping({
      contains: text('The reply contains this text, in upper or lower case.'),
      not_contains: text('The reply does not contain this text, in upper or lower case.'),
      equals: text('The reply is this text. White space around both does not count.'),
      matches: v.exactOptional(
        v.pipe(
          v.string(),
          checkedBy(mistakeInPattern),
          v.description('A JavaScript regular expression that is found in the reply.'),
        ),
      ),
      run: v.exactOptional(
        v.pipe(
          nonBlankText(
            'A shell command that gets the conversation as JSON on standard input. Exit code 0 accepts the reply.',
          ),
          checkedBy((command) => mistakeInCommand(command, files)),
        ),
      ),
    }),
    v.check((given) => Object.keys(given).length === 1, `must have one of: ${MATCHERS.join(', ')}`),
    v.description('What is expected of the replies of the turn, joined by line feeds.'),
  );

const turnOf = (files: Files) =>
  v.pipe(
    mapping({
      say: nonBlankText('The message to the agent.'),
      within: v.exactOptional(
        v.pipe(
          v.string(),
          v.check((given) => parseDuration(given) !== undefined, 'must be a duration such as 500ms, 30s, or 2m'),
          v.description('The time to the last reply. Default: 60s.'),
        ),
      ),
      replies: v.exactOptional(
        v.pipe(
          v.number(),
          v.integer('must be a whole number'),
          v.minValue(1, 'must be at least 1'),
          v.maxValue(MAX_REPLIES, `must be at most ${MAX_REPLIES}`),
          v.description('How many replies come: neither fewer nor more. Default: 1.'),
        ),
      ),
      expect: v.exactOptional(v.pipe(v.array(expectationOf(files)), v.description('All must hold.'))),
    }),
    v.description('A message, and what is expected of the replies to it.'),
  );

const conversationOf = (files: Files) =>
  v.pipe(
    mapping({
      name: v.exactOptional(nonBlankText('Default: the name of the file.')),
      agent: v.exactOptional(identifier('An agent_id, or name:<name>. Default: from the command line.')),
      turns: v.pipe(
        v.array(turnOf(files)),
        v.nonEmpty('must have at least one turn'),
        v.description('One after the other. The first one that fails ends the conversation.'),
      ),
    }),
    v.description('A conversation as a test. Each run has a session of its own.'),
  );

type Conversation = v.InferOutput<ReturnType<typeof conversationOf>>;

export interface Turn {
  readonly say: string;
  readonly withinMs: number;
  readonly replies: number;
  readonly expectations: readonly Expectation[];
  /** File and line. */
  readonly source: string;
}

/** A conversation to hold with an agent, and what is expected of its replies. */
export interface ConversationTest {
  /** File and line where its content starts: `tests/invoice.yaml:1`. */
  readonly source: string;
  readonly name: string;
  /** Undefined: the one of the command line. */
  readonly agent: AgentReference | undefined;
  readonly turns: readonly Turn[];
}

function readTurns(document: YamlDocument, turns: Conversation['turns']): Turn[] {
  return turns.map(({ say, within, replies = 1, expect = [] }, index) => {
    const path = ['turns', index];
    const expectations = expect.map((given, number): Expectation => {
      const own = [...path, 'expect', number];
      const [matcher = 'contains'] = MATCHERS.filter((name) => given[name] !== undefined);
      return { matcher, value: given[matcher] ?? '', source: fileAndLine(document.place([...own, matcher])) };
    });
    const withinMs = (within === undefined ? undefined : parseDuration(within)) ?? DEFAULT_WITHIN_MS;
    return { say, withinMs, replies, expectations, source: fileAndLine(document.place([...path, 'say'])) };
  });
}

/**
 * Parses and checks conversations: every document of every source.
 * @param surroundings `lookup`: the value of a variable; undefined if it is not set
 * @returns the conversations in order, and the problems. Nothing may be sent while there is a problem
 */
export function parseConversations(
  sources: readonly YamlSource[],
  { lookup, exists }: Files & { readonly lookup: Lookup },
): { conversations: readonly ConversationTest[]; problems: readonly Problem[] } {
  const conversations: ConversationTest[] = [];
  const places = new Map<string, string>();
  const review = (document: YamlDocument, value: Conversation): void => {
    const source = fileAndLine(document.place([]));
    const file = source.replace(/:\d+$/, '');
    const name = value.name ?? basename(file, extname(file));
    const key = JSON.stringify([file, name]);
    const first = places.get(key);
    if (first === undefined) places.set(key, source);
    else document.report(['name'], `the conversation at ${first} has the name ${JSON.stringify(name)}, too`);
    const agent = value.agent === undefined ? undefined : parseAgentReference(value.agent);
    conversations.push({ source, name, agent, turns: readTurns(document, value.turns) });
  };
  const { problems } = readYaml(sources, {
    schema: conversationOf({ exists }),
    lookup,
    other: { key: 'external_space_id', hint: 'a manifest is for: --manifests' },
    review,
  });
  return { conversations, problems };
}

/** The JSON Schema of a conversation, for editors. */
export function conversationJsonSchema(): object {
  return jsonSchema(conversationOf({ exists: () => true }));
}
