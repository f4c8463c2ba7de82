import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isAddressAllowed, isAddressRange } from '../../src/sandbox/cidr.ts';

test.each(['10.0.0.1', '10.0.0.0/8', '10.1.2.3/8', '0.0.0.0/0', '::/0', '2001:DB8::1', '::ffff:10.0.0.0/104'])(
  '%s is an address range',
  (entry) => {
    expect(isAddressRange(entry)).toBe(true);
  },
);

test.each([
  '',
  'localhost',
  '10.0.0',
  '10.0.0.256',
  '10.0.0.0/33',
  '10.0.0.0/08',
  '10.0.0.0/-1',
  '10.0.0.0/',
  '10.0.0.0/8/8',
  '010.0.0.1',
  '::/129',
  '::1%lo',
  ' 10.0.0.1',
  '10.0.0.0/8.0',
])('%j is not an address range', (entry) => {
  expect(isAddressRange(entry)).toBe(false);
});

test.each([
  ['10.1.2.3/8', '10.9.9.9', true],
  ['10.0.0.0/8', '11.0.0.1', false],
  ['10.0.0.0/8', '::ffff:a00:1', true],
  ['10.0.0.0/8', '::ffff:b00:1', false],
  ['::ffff:10.0.0.0/104', '10.1.2.3', true],
  ['::ffff:10.0.0.0/104', '::ffff:11.0.0.1', false],
  ['10.0.0.1', '10.0.0.1', true],
  ['10.0.0.1', '10.0.0.2', false],
  ['0.0.0.0/0', '2001:db8::1', false],
  ['2001:db8::/32', '2001:db8:ffff::1', true],
  ['2001:db8::/32', '2001:db9::1', false],
  ['fe80::/10', 'fe80::1%eth0', true],
  ['::1', '0:0:0:0:0:0:0:1', true],
  ['10.0.0.0/8', '', false],
])('the range %s includes the address %j: %s', (range, address, expected) => {
  expect(isAddressAllowed([range], address)).toBe(expected);
});

test('without ranges every address is allowed; of several ranges one is enough', () => {
  expect(isAddressAllowed([], '203.0.113.9')).toBe(true);
  const ranges = ['10.0.0.0/8', '2001:db8::/32'];
  expect(['10.1.1.1', '2001:db8::5', '192.0.2.1'].map((address) => isAddressAllowed(ranges, address))).toEqual([
    true,
    true,
    false,
  ]);
});

test('a range includes exactly the addresses that share its leading bits', () => {
  fc.assert(
    fc.property(fc.nat(0xffff_ffff), fc.nat(0xffff_ffff), fc.nat(32), (network, address, prefix) => {
      const text = (bits: number): string => [24, 16, 8, 0].map((shift) => (bits >>> shift) & 0xff).join('.');
      const lead = (bits: number): bigint => BigInt(bits) >> BigInt(32 - prefix);
      const expected = lead(network) === lead(address);
      const ranges = [`${text(network)}/${prefix}`];
      expect(isAddressAllowed(ranges, text(address))).toBe(expected);
      expect(isAddressAllowed(ranges, `::ffff:${text(address)}`)).toBe(expected);
    }),
  );
});
