import { expect, test } from 'vitest';
import { explainUnrecognized } from '../../../src/chat/unrecognized-author.ts';
import { Contract } from '../../../src/contract/contract.ts';
import { readMessage } from '../../../src/contract/messages.ts';
import { shellQuote } from '../../../src/platform/shell-quote.ts';

test('the error for an unknown author names the command for each side, with the authors that are known', () => {
  const override = {
    'message.author': 'message_type',
    'message.author.agent': 'assistant',
    'message.author.user': 'user',
  };
  const contract = new Contract({ override });
  const message = readMessage({ id: 'm0', text: 'Hi', message_type: 0 }, contract);
  const doubt = explainUnrecognized(message, contract, (args) => ['partnerctl', ...args].map(shellQuote).join(' '));
  expect(doubt.hint).toBe(
    [
      `If "0" is the agent, run: partnerctl contract set message.author.agent 'assistant, 0'`,
      `If it is the user, run: partnerctl contract set message.author.user 'user, 0'`,
    ].join('\n'),
  );
});
