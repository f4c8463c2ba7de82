import { expect, test } from 'vitest';
import { withReason } from '../../../src/output/sentences.ts';

test.each([
  ['No response.', 'the connection was reset\nIts key is k1.', 'No response. The connection was reset. Its key is k1.'],
  ['It is unreadable: /x', 'They differ:\nname is Acme', 'It is unreadable: /x. They differ: name is Acme'],
  ['Refused.', 'agents[0].name: is taken\nname: is taken', 'Refused. agents[0].name: is taken; name: is taken'],
  ['Refused.', undefined, 'Refused.'],
])('to %j, the reason %j is appended as sentences', (message, reason, text) => {
  expect(withReason(message, reason)).toBe(text);
});
