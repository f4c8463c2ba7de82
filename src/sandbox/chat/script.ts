import * as v from 'valibot';
import type { AgentRecord } from '../store/agents.ts';
import { type MessageRecord, messageRoleSchema } from '../store/messages.ts';

/** How long an agent takes for a reply when nothing else is said, in milliseconds. */
const USUAL_DELAY_MS = 50;

const MAX_DELAY_MS = 86_400_000;

/** `.` matches newlines too: a message is one text, however many lines it has. */
const PATTERN_FLAGS = 'su';

function isPattern(text: string): boolean {
  try {
    return new RegExp(text, PATTERN_FLAGS) instanceof RegExp;
  } catch {
    return false;
  }
}

const scriptedReplySchema = v.strictObject({
  /** `$&` stands for what the pattern matched, `$1` to `$99` for its groups, `$$` for a dollar sign. */
  text: v.pipe(v.string(), v.minLength(1, 'must not be empty')),
  /** Milliseconds after the reply before it, or after the agent took the message. */
  delay_ms: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(MAX_DELAY_MS)), USUAL_DELAY_MS),
  role: v.optional(messageRoleSchema, 'assistant'),
});

const scriptRuleSchema = v.pipe(
  v.strictObject({
    /** A regular expression that is searched for in the message. */
    pattern: v.pipe(v.string(), v.check(isPattern, 'must be a regular expression')),
    /** For the agents of this id or name only. */
    agent: v.optional(v.string()),
    /** For agents installed from this template only. */
    template: v.optional(v.string()),
    replies: v.optional(v.array(scriptedReplySchema), []),
    /** The agent says nothing at all, or ends its replies with one that tells of a failure. */
    fail: v.optional(v.picklist(['silent', 'error-reply'], 'must be one of silent, error-reply')),
    /** The replies come in the reverse of the order in which they are written. */
    out_of_order: v.optional(v.boolean(), false),
  }),
  v.check(({ replies, fail }) => replies.length > 0 || fail !== undefined, 'must have replies, or say how it fails'),
  v.check(({ replies, fail }) => replies.length === 0 || fail !== 'silent', 'must have no replies when it is silent'),
);

/** How agents answer: the first rule that fits a message counts, and where none does they echo it. */
export const scriptSchema = v.array(scriptRuleSchema);

/** What a caller writes: defaults may be left out. */
export type Script = v.InferInput<typeof scriptSchema>;

export type SettledScript = v.InferOutput<typeof scriptSchema>;

type Rule = SettledScript[number];

/** A reply that an agent has decided on. */
export interface PlannedReply {
  readonly role: MessageRecord['role'];
  readonly text: string;
  /** Milliseconds after the agent took the message. */
  readonly after_ms: number;
}

const ERROR_TEXT = 'Something went wrong, and this message could not be answered.';

function fill(text: string, match: RegExpExecArray): string {
  return text.replace(/\$(\$|&|\d{1,2})/g, (placeholder, name: string) => {
    if (name === '$') return '$';
    const group = name === '&' ? 0 : Number(name);
    return group < match.length && name !== '0' ? (match[group] ?? '') : placeholder;
  });
}

function isFor(rule: Rule, agent: AgentRecord): boolean {
  const named = rule.agent === undefined || rule.agent === agent.agent_id || rule.agent === agent.name;
  return named && (rule.template === undefined || rule.template === agent.template_id);
}

function repliesOf(rule: Rule, match: RegExpExecArray): PlannedReply[] {
  const ordered = rule.out_of_order ? rule.replies.toReversed() : rule.replies;
  let after_ms = 0;
  const planned = ordered.map(({ role, text, delay_ms }): PlannedReply => {
    after_ms += delay_ms;
    return { role, text: fill(text, match), after_ms };
  });
  if (rule.fail !== 'error-reply') return planned;
  return [...planned, { role: 'assistant', text: ERROR_TEXT, after_ms: after_ms + USUAL_DELAY_MS }];
}

/**
 * What an agent says to a text: as the script has it, or else an echo.
 * @returns the replies in the order in which they come; none when the agent keeps silent.
 */
export function planReplies(script: SettledScript, agent: AgentRecord, text: string): PlannedReply[] {
  for (const rule of script) {
    const match = isFor(rule, agent) ? new RegExp(rule.pattern, PATTERN_FLAGS).exec(text) : null;
    if (match) return repliesOf(rule, match);
  }
  return [{ role: 'assistant', text: `You said: ${text}`, after_ms: USUAL_DELAY_MS }];
}
