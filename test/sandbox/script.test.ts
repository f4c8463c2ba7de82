import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { planReplies } from '../../src/sandbox/chat/script.ts';
import { parseScript } from '../../src/sandbox/chat/script-text.ts';

const agent = {
  agent_id: 'agt_1',
  space_id: 'spc_1',
  template_id: 'tmpl_support',
  name: 'Support',
  created_at: '2026-01-01T00:00:00.000Z',
};

describe('reading a script', () => {
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

  const READ = [
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

  test('from YAML, and from JSON', () => {
    expect(parseScript(YAML)).toEqual(READ);
    expect(parseScript(JSON.stringify(READ))).toEqual(READ);
  });

  test.each([
    ['pattern: x', 'must be Array'],
    ['- replies: [{ text: x }]', '[0].pattern is required'],
    ['- { pattern: "[", replies: [{ text: x }] }', '[0].pattern must be a regular expression'],
    ['- { pattern: x }', '[0] must have replies, or say how it fails'],
    ['- { pattern: x, replies: [{ text: x }], fail: silent }', '[0] must have no replies when it is silent'],
    ['- { pattern: x, replies: [{ text: x, delay_ms: -1 }] }', '[0].replies[0].delay_ms must be >=0'],
    ['- { pattern: x, replies: [{ text: "" }] }', '[0].replies[0].text must not be empty'],
    ['- { pattern: x, fail: loud }', '[0].fail must be one of silent, error-reply'],
    ['- { pattern: x, fail: silent, tone: kind }', '[0].tone is not a known field'],
    ['- { pattern: x', 'line 1'],
  ])('%s is refused: %s', (text, message) => {
    expect(() => parseScript(text)).toThrow(message);
  });
});

describe('what an agent says', () => {
  function says(pattern: string, text: string, heard: string): string | undefined {
    const script = parseScript(JSON.stringify([{ pattern, replies: [{ text }] }]));
    return planReplies(script, agent, heard)[0]?.text;
  }

  test.each([
    ['(\\w+) (\\w+)', '$2 $1', 'a b', 'b a'],
    ['b+', '[$&]', 'abbbc', '[bbb]'],
    ['(a)|(b)', '<$1|$2>', 'b', '<|b>'],
    ['(a)', '$1 costs $$1, $2 and $0 are not there', 'a', 'a costs $1, $2 and $0 are not there'],
    ['(a)', '$', 'a', '$'],
    ['^first.*last$', '$&', 'first\nlast', 'first\nlast'],
    ['(🙂)', '$1$1', '🙂', '🙂🙂'],
    ['(.*)', '$1', '$& $1 $$', '$& $1 $$'],
  ])('to %s with %j on %j: %j', (pattern, text, heard, expected) => {
    expect(says(pattern, text, heard)).toBe(expected);
  });

  test('is what the first rule that fits says', () => {
    const script = parseScript('- { pattern: a, fail: silent }\n- { pattern: b, replies: [{ text: B }] }');
    expect(planReplies(script, agent, 'ab')).toEqual([]);
    expect(planReplies(script, agent, 'b')).toEqual([{ role: 'assistant', text: 'B', after_ms: 50 }]);
    expect(planReplies(script, agent, 'c')).toEqual([{ role: 'assistant', text: 'You said: c', after_ms: 50 }]);
  });

  test('comes at moments that never go down, whatever the delays', () => {
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
