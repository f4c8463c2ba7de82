import { expect, test } from 'vitest';
import { deriveExternalId } from '../../../src/chat/rows.ts';

test('The external id of a row differs for each row, and stays the same in later versions, or a repeat sends everything again', () => {
  const row = { source_id: 'src_1', session_id: 's1', text: 'Hello!' };
  expect(deriveExternalId(row, 1)).toBe('row-7741e9ec12b429504a0482c3331e1e29');
  const others = [
    { ...row, source_id: 'src_' },
    { ...row, session_id: '1s1' },
    { ...row, text: '1Hello!' },
  ];
  const ids = [row, ...others].flatMap((each) => [deriveExternalId(each, 1), deriveExternalId(each, 2)]);
  expect(new Set(ids).size).toBe(8);
});
