import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { deriveExternalId } from '../../../src/chat/rows.ts';
import { propertyRuns } from '../../support/properties.ts';

const text = fc.string({ unit: fc.constantFrom('a', 'b', '"', ',', '\\', '\u0000', 'é', '\ud83d', '1'), maxLength: 4 });
const row = fc.record({ source_id: text, session_id: text, text, occurrence: fc.integer({ min: 1, max: 3 }) });

type Content = Parameters<typeof deriveExternalId>[0] & { readonly occurrence: number };

const idOf = ({ occurrence, ...content }: Content): string => deriveExternalId(content, occurrence);

describe('the external id of a row', () => {
  test('is the same each time, and different for each row', () => {
    fc.assert(
      fc.property(row, row, (one, other) => {
        const isSame = JSON.stringify(Object.values(one)) === JSON.stringify(Object.values(other));
        expect(idOf({ ...one })).toBe(idOf(one));
        expect(idOf(one) === idOf(other)).toBe(isSame);
      }),
      { numRuns: propertyRuns(2_000) },
    );
  });

  test('stays the same in later versions, because a repeat would otherwise send everything again', () => {
    const id = deriveExternalId({ source_id: 'src_1', session_id: 's1', text: 'Hello!' }, 1);
    expect(id).toBe('row-7741e9ec12b429504a0482c3331e1e29');
  });
});
