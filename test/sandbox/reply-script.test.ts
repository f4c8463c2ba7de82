import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseScript, planReplies } from '../../src/sandbox/agents/reply-script.ts';

const agent = {
  agent_id: 'agt_1',
  space_id: 'spc_1',
  template_id: 'tmpl_support',
  name: 'Support',
  created_at: '2026-01-01T00:00:00.000Z',
};

describe('parsing a script', () => {
  const YAML = String.raw`
# Refunds take a while.
- pattern: refund (\d+)
  template: tmpl_support
  replies:
    - { text: "Looking up $1", delay_ms: 100 }
    - text: |-
        Done:
        $&
  out_of_order: true
- { pattern: quiet, agent: Ada, fail: silent }
`;

  const PARSED = [
    {
      pattern: 'refund (\\d+)',
      template: 'tmpl_support',
      replies: [
        { text: 'Looking up $1', delay_ms: 100, role: 'assistant' },
        { text: 'Done:\n$&', delay_ms: 50, role: 'assistant' },
      ],
      out_of_order: true,
    },
    { pattern: 'quiet', agent: 'Ada', replies: [], fail: 'silent', out_of_order: false },
  ];

  test('works from YAML and from JSON', () => {
    expect(parseScript(YAML)).toEqual(PARSED);
    expect(parseScript(JSON.stringify(PARSED))).toEqual(PARSED);
  });

  test.each([
    ['pattern: x', 'must be a list'],
    ['- replies: [{ text: x }]', '[0].pattern is required'],
    ['- { pattern: "[", replies: [{ text: x }] }', '[0].pattern must be a regular expression'],
    ['- { pattern: x }', '[0] must have replies or fail'],
    ['- { pattern: x, replies: [{ text: x }], fail: silent }', '[0] must have no replies when fail is silent'],
    ['- { pattern: x, replies: [{ text: x, delay_ms: -1 }] }', '[0].replies[0].delay_ms must be >=0'],
    ['- { pattern: x, replies: [{ text: "" }] }', '[0].replies[0].text must not be empty'],
    ['- { pattern: x, fail: loud }', '[0].fail must be one of silent, error-reply'],
    ['- { pattern: x, fail: silent, tone: kind }', '[0].tone is not a known field'],
    ['- { pattern: x', 'line 1'],
  ])('rejects %s: %s', (text, message) => {
    expect(() => parseScript(text)).toThrow(message);
  });
});

describe('planning replies', () => {
  test.each([
    ['(\\w+) (\\w+)', '$2 $1', 'a b', 'b a'],
    ['b+', '[$&]', 'abbbc', '[bbb]'],
    ['(a)|(b)', '<$1|$2>', 'b', '<|b>'],
    ['(a)', '$1 costs $$1, $2 and $0 are not there', 'a', 'a costs $1, $2 and $0 are not there'],
    ['(a)', '$', 'a', '$'],
    ['^first.*last$', '$&', 'first\nlast', 'first\nlast'],
    ['(🙂)', '$1$1', '🙂', '🙂🙂'],
    ['(.*)', '$1', '$& $1 $$', '$& $1 $$'],
  ])('with the pattern %s and the text %j turns %j into %j', (pattern, text, message, expected) => {
    const script = parseScript(JSON.stringify([{ pattern, replies: [{ text }] }]));
    expect(planReplies(script, agent, message)[0]?.text).toBe(expected);
  });

  test('uses the first rule that matches, and echoes if none does', () => {
    const script = parseScript('- { pattern: a, fail: silent }\n- { pattern: b, replies: [{ text: B }] }');
    expect(planReplies(script, agent, 'ab')).toEqual([]);
    expect(planReplies(script, agent, 'b')).toEqual([{ role: 'assistant', text: 'B', after_ms: 50 }]);
    expect(planReplies(script, agent, 'c')).toEqual([{ role: 'assistant', text: 'You said: c', after_ms: 50 }]);
  });

  test('returns the replies in order, at times that never decrease', () => {
    const delays = fc.array(fc.nat(1_000), { minLength: 1, maxLength: 10 });
    fc.assert(
      fc.property(delays, fc.boolean(), (delay_ms, out_of_order) => {
        const replies = delay_ms.map((each, index) => ({ text: `${index}`, delay_ms: each }));
        const script = parseScript(JSON.stringify([{ pattern: '', replies, out_of_order }]));
        const planned = planReplies(script, agent, '');
        const order = planned.map(({ text }) => Number(text));
        expect(out_of_order ? order.toReversed() : order).toEqual(delay_ms.map((_, index) => index));
        const moments = planned.map(({ after_ms }) => after_ms);
        expect(moments).toEqual(moments.toSorted((one, other) => one - other));
        expect(moments.at(-1)).toBe(delay_ms.reduce((sum, each) => sum + each, 0));
      }),
    );
  });
});
