import * as v from 'valibot';
import { parse } from 'yaml';
import { checkOption } from './input.ts';
import { type Agent, roleSchema } from './resources.ts';

/** How long an agent takes for a reply unless the script says otherwise, in milliseconds. */
const DELAY_MS = 50;

/** `.` also matches newlines: a message is one text, however many lines it has. */
const PATTERN_FLAGS = 'su';

const ERROR_TEXT = 'Something went wrong, and this message could not be answered.';

function isPattern(text: string): boolean {
  try {
    return new RegExp(text, PATTERN_FLAGS) instanceof RegExp;
  } catch {
    return false;
  }
}

const replySchema = v.strictObject({
  /** `$&` stands for what the pattern matched, `$1` to `$99` for its groups, `$$` for a dollar sign. */
  text: v.pipe(v.string(), v.nonEmpty('must not be empty')),
  /** Milliseconds after the previous reply, or after the agent took the message. */
  delay_ms: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(86_400_000)), DELAY_MS),
  role: v.optional(roleSchema, 'assistant'),
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
export type ScriptInput = v.InferInput<typeof scriptSchema>;

export type Script = v.InferOutput<typeof scriptSchema>;

/** A reply to send this many milliseconds after the agent took the message. */
interface Reply {
  readonly role: 'user' | 'assistant';
  readonly text: string;
  readonly after_ms: number;
}

/** Parses a script in YAML or JSON. @throws Error that names what is wrong and where */
export function parseScript(text: string): Script {
  return checkOption('script', scriptSchema, parse(text));
}

function fillPlaceholders(text: string, match: RegExpExecArray): string {
  return text.replace(/\$(\$|&|\d{1,2})/g, (placeholder, name: string) => {
    if (name === '$') return '$';
    const group = name === '&' ? 0 : Number(name);
    return group < match.length && name !== '0' ? (match[group] ?? '') : placeholder;
  });
}

function appliesTo({ template, agent: wanted }: Script[number], agent: Agent): boolean {
  if (template !== undefined && template !== agent.template_id) return false;
  return wanted === undefined || wanted === agent.agent_id || wanted === agent.name;
}

function repliesOf({ replies, fail, out_of_order }: Script[number], match: RegExpExecArray): Reply[] {
  let after_ms = 0;
  const planned = (out_of_order ? replies.toReversed() : replies).map(({ role, text, delay_ms }): Reply => {
    after_ms += delay_ms;
    return { role, text: fillPlaceholders(text, match), after_ms };
  });
  if (fail !== 'error-reply') return planned;
  return [...planned, { role: 'assistant', text: ERROR_TEXT, after_ms: after_ms + DELAY_MS }];
}

/** An agent's replies to a text in the order of sending: those of the script, or else an echo. */
export function planReplies(script: Script, agent: Agent, text: string): Reply[] {
  for (const rule of script) {
    const match = appliesTo(rule, agent) ? new RegExp(rule.pattern, PATTERN_FLAGS).exec(text) : null;
    if (match) return repliesOf(rule, match);
  }
  return [{ role: 'assistant', text: `You said: ${text}`, after_ms: DELAY_MS }];
}
