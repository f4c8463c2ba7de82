import * as v from 'valibot';
import { parse } from 'yaml';
import type { Agent, Message } from '../store/changes.ts';
import { parseOrThrow } from '../validation.ts';

/** How long an agent takes for a reply unless the script says otherwise, in milliseconds. */
const DEFAULT_DELAY_MS = 50;

const MAX_DELAY_MS = 86_400_000;

/** `.` also matches newlines: a message is one text, however many lines it has. */
const PATTERN_FLAGS = 'su';

function isPattern(text: string): boolean {
  try {
    return new RegExp(text, PATTERN_FLAGS) instanceof RegExp;
  } catch {
    return false;
  }
}

const replySchema = v.strictObject({
  /** `$&` stands for what the pattern matched, `$1` to `$99` for its groups, `$$` for a dollar sign. */
  text: v.pipe(v.string(), v.minLength(1, 'must not be empty')),
  /** Milliseconds after the previous reply, or after the agent took the message. */
  delay_ms: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(MAX_DELAY_MS)), DEFAULT_DELAY_MS),
  role: v.optional(v.picklist(['user', 'assistant'], 'must be one of user, assistant'), 'assistant'),
});

const ruleSchema = v.pipe(
  v.strictObject({
    /** A regular expression that is searched for in the message. */
    pattern: v.pipe(v.string(), v.check(isPattern, 'must be a regular expression')),
    /** Only for agents with this id or name. */
    agent: v.optional(v.string()),
    /** Only for agents installed from this template. */
    template: v.optional(v.string()),
    replies: v.optional(v.array(replySchema), []),
    /** The agent does not reply, or its last reply reports a failure. */
    fail: v.optional(v.picklist(['silent', 'error-reply'], 'must be one of silent, error-reply')),
    /** Send the replies in reverse order. */
    out_of_order: v.optional(v.boolean(), false),
  }),
  v.check(({ replies, fail }) => replies.length > 0 || fail !== undefined, 'must have replies or fail'),
  v.check(({ replies, fail }) => replies.length === 0 || fail !== 'silent', 'must have no replies when fail is silent'),
);

/** How agents reply: by the first rule that matches the message; without a match they echo it. */
export const scriptSchema = v.array(ruleSchema);

/** A script as a caller writes it: fields with defaults are optional. */
export type Script = v.InferInput<typeof scriptSchema>;

export type ReplyScript = v.InferOutput<typeof scriptSchema>;

type Rule = ReplyScript[number];

interface PlannedReply {
  readonly role: Message['role'];
  readonly text: string;
  /** Milliseconds after the agent took the message. */
  readonly after_ms: number;
}

const ERROR_TEXT = 'Something went wrong, and this message could not be answered.';

/** Parses a script in YAML or JSON. @throws Error that names what is wrong and where */
export function parseScript(text: string): ReplyScript {
  return parseOrThrow('script', scriptSchema, parse(text));
}

function fillPlaceholders(text: string, match: RegExpExecArray): string {
  return text.replace(/\$(\$|&|\d{1,2})/g, (placeholder, name: string) => {
    if (name === '$') return '$';
    const group = name === '&' ? 0 : Number(name);
    return group < match.length && name !== '0' ? (match[group] ?? '') : placeholder;
  });
}

function appliesTo(rule: Rule, agent: Agent): boolean {
  if (rule.template !== undefined && rule.template !== agent.template_id) return false;
  return rule.agent === undefined || rule.agent === agent.agent_id || rule.agent === agent.name;
}

function repliesOf(rule: Rule, match: RegExpExecArray): PlannedReply[] {
  const ordered = rule.out_of_order ? rule.replies.toReversed() : rule.replies;
  let after_ms = 0;
  const planned = ordered.map(({ role, text, delay_ms }): PlannedReply => {
    after_ms += delay_ms;
    return { role, text: fillPlaceholders(text, match), after_ms };
  });
  if (rule.fail !== 'error-reply') return planned;
  return [...planned, { role: 'assistant', text: ERROR_TEXT, after_ms: after_ms + DEFAULT_DELAY_MS }];
}

/**
 * Plans an agent's replies to a text: those of the script, or else an echo.
 * @returns the replies in the order of sending; none when the agent stays silent
 */
export function planReplies(script: ReplyScript, agent: Agent, text: string): PlannedReply[] {
  for (const rule of script) {
    const match = appliesTo(rule, agent) ? new RegExp(rule.pattern, PATTERN_FLAGS).exec(text) : null;
    if (match) return repliesOf(rule, match);
  }
  return [{ role: 'assistant', text: `You said: ${text}`, after_ms: DEFAULT_DELAY_MS }];
}
