import * as v from 'valibot';
import { parse } from 'yaml';
import { checkOption } from './input.ts';
import type { Agent } from './resources.ts';

/** How long an agent takes for a reply unless the script says otherwise, in milliseconds. */
const DELAY_MS = 50;

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
  /** `$&` stands for what the pattern matched, `$1` to `$9` for its groups, `$$` for a dollar sign. */
  text: v.pipe(v.string(), v.nonEmpty('must not be empty')),
  /** Milliseconds after the previous reply, or after the agent took the message. */
  delay_ms: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(86_400_000)), DELAY_MS),
});

const ruleSchema = v.pipe(
  v.strictObject({
    /** A regular expression that is searched for in the message. */
    pattern: v.pipe(v.string(), v.check(isPattern, 'must be a regular expression')),
    /** Only for agents with this id or name. */
    agent: v.optional(v.string()),
    replies: v.optional(v.array(replySchema), []),
    /** The agent does not reply. */
    fail: v.optional(v.literal('silent', 'must be silent')),
  }),
  v.check(({ replies, fail }) => replies.length > 0 !== (fail === 'silent'), 'must have either replies or fail'),
);

/** How agents reply: by the first rule that matches the message; without a match they echo it. */
export const scriptSchema = v.array(ruleSchema);

/** A script as a caller writes it: fields with defaults are optional. */
export type ScriptInput = v.InferInput<typeof scriptSchema>;

export type Script = v.InferOutput<typeof scriptSchema>;

/** Parses a script in YAML or JSON. @throws Error that names what is wrong and where */
export function parseScript(text: string): Script {
  return checkOption('script', scriptSchema, parse(text));
}

function fillPlaceholders(text: string, match: RegExpExecArray): string {
  return text.replace(/\$([$&\d])/g, (placeholder, name: string) => {
    if (name === '$') return '$';
    const group = name === '&' ? 0 : Number(name) || match.length;
    return group < match.length ? (match[group] ?? '') : placeholder;
  });
}

/** An agent's replies to a text, each with its delay after the message: those of the script, or else an echo. */
export function planReplies(script: Script, agent: Agent, text: string): { text: string; after_ms: number }[] {
  const rules = script.filter((rule) => [undefined, agent.agent_id, agent.name].includes(rule.agent));
  for (const { pattern, replies } of rules) {
    const match = new RegExp(pattern, PATTERN_FLAGS).exec(text);
    if (!match) continue;
    let after_ms = 0;
    return replies.map((reply) => {
      after_ms += reply.delay_ms;
      return { text: fillPlaceholders(reply.text, match), after_ms };
    });
  }
  return [{ text: `You said: ${text}`, after_ms: DELAY_MS }];
}
