import { describe, expect, it } from 'vitest';
import { canonicalId } from '../../../src/contract/uuid.ts';

const ID = '4954764b-2e2b-4297-abec-4d8fbc9a46a7';

describe('canonicalId', () => {
  it.each([ID, ID.toUpperCase(), ID.replaceAll('-', ''), `{${ID}}`, `{${ID.replaceAll('-', '').toUpperCase()}}`])(
    'gives %s the usual spelling of a UUID',
    (id) => {
      expect(canonicalId(id)).toBe(ID);
    },
  );

  it.each([
    '',
    'AGT_1',
    '17',
    'A'.repeat(31),
    'A'.repeat(33),
    `x${ID}`,
    `${ID} `,
    ID.replace('4', 'G'),
    'A'.repeat(24),
  ])('keeps %j', (id) => {
    expect(canonicalId(id)).toBe(id);
  });
});
