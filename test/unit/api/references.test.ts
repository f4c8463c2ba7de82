import { expect, it } from 'vitest';
import { parseReference } from '../../../src/api/references.ts';

it.each([
  ['spc_1', { by: 'id', value: 'spc_1' }],
  ['ext:acme-001', { by: 'external_space_id', value: 'acme-001' }],
  ['name:Acme: the first', { by: 'name', value: 'Acme: the first' }],
  ['ext:name:x', { by: 'external_space_id', value: 'name:x' }],
  ['Ext:x', { by: 'id', value: 'Ext:x' }],
  ['ext:', { by: 'external_space_id', value: '' }],
])('parses the reference %s', (text, expected) => {
  expect(parseReference(text)).toEqual(expected);
});
