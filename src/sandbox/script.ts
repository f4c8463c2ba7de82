import * as v from 'valibot';
import { parse } from 'yaml';
import { checkOption, integer, messageText, nonBlank, usableBy } from './input.ts';

/** How long an agent takes for a reply unless the script says otherwise, in milliseconds. */
const DELAY_MS = 50;

/** `.` also matches newlines: a message is one text, however many lines it has. */
function parsePattern(pattern: string): RegExp {
  return new RegExp(pattern, 'su');
}

const replySchema = v.strictObject({
  /** `$1` to `$9` stand for the groups of the pattern, `$$` for a dollar sign. */
  text: messageText,
  /** Milliseconds after the previous reply, or after the agent took the message. */
  delay_ms: v.optional(integer(0, 86_400_000), DELAY_MS),
});

const ruleSchema = v.strictObject({
  /** The name of the agent that follows the rule; without it, every agent. */
  agent: v.optional(nonBlank),
  /** A regular expression that is searched for in the message. */
  pattern: v.pipe(v.string(), usableBy(parsePattern, 'must be a regular expression')),
  /** Empty for an agent that stays silent. */
  replies: v.array(replySchema),
});

/** How agents reply: by the first rule that matches the message; without a match they echo it. */
export const scriptSchema = v.array(ruleSchema);

export type Script = v.InferOutput<typeof scriptSchema>;

/** Parses a script in YAML or JSON. @throws Error that names what is wrong and where */
export function parseScript(text: string): Script {
  return checkOption('script', scriptSchema, parse(text));
}

/** An agent's replies to a text, each with its delay after the message: those of the script, or else an echo. */
export function planReplies(script: Script, agentName: string, text: string): { text: string; after_ms: number }[] {
  const isOwn = ({ agent = agentName }: Script[number]) => agent.normalize() === agentName.normalize();
  const rule = script.find((each) => isOwn(each) && parsePattern(each.pattern).test(text));
  if (!rule) return [{ text: `You said: ${text}`, after_ms: DELAY_MS }];
  // Matches the whole message, so that nothing of it is around the reply.
  const whole = parsePattern(`^.*?(?:${rule.pattern}).*$`);
  let after_ms = 0;
  return rule.replies.map((reply) => {
    after_ms += reply.delay_ms;
    return { text: text.replace(whole, reply.text), after_ms };
  });
}
