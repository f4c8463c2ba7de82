import { expect, test } from 'vitest';
import { explainUnrecognized } from '../../../src/chat/unrecognized-author.ts';
import { Contract } from '../../../src/contract/contract.ts';
import { readMessage } from '../../../src/contract/messages.ts';
import { shellQuote } from '../../../src/platform/shell-quote.ts';

function explain(contract: Contract, entries: readonly { readonly [key: string]: unknown }[]) {
  const messages = entries.map((entry, index) => readMessage({ id: `m${index}`, text: 'Hi', ...entry }, contract));
  return explainUnrecognized(messages, contract, (args) => ['partnerctl', ...args].map(shellQuote).join(' '));
}

test('the error for a message without a known author asks for the field that contains it', () => {
  const doubt = explain(new Contract(), [{ lane: 4 }]);
  expect(doubt?.hint).toContain("partnerctl contract set message.author '<path>'");
  expect(doubt?.why).toContain('lane (');
});

test('the error for an unknown author names the command for each side, with the authors that are known', () => {
  const contract = new Contract({
    override: {
      'message.author': 'message_type',
      'message.author.agent': 'assistant',
      'message.author.user': 'user',
    },
  });
  expect(explain(contract, [{ message_type: 0 }])?.hint).toBe(
    [
      `If "0" is the agent, run: partnerctl contract set message.author.agent 'assistant, 0'`,
      `If it is the user, run: partnerctl contract set message.author.user 'user, 0'`,
    ].join('\n'),
  );
});
