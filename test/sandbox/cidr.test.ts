import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { addressTest, isAddressRange } from '../../src/sandbox/cidr.ts';

describe('address ranges', () => {
  test.each([
    '10.0.0.1',
    '10.0.0.0/8',
    '10.1.2.3/8',
    '0.0.0.0/0',
    '::',
    '::/0',
    '2001:db8::/32',
    '2001:DB8::1',
    '::ffff:10.0.0.0/104',
    '::ffff:10.0.0.1',
  ])('%s is one', (entry) => {
    expect(isAddressRange(entry)).toBe(true);
  });

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
    '10.0.0.1 ',
    '10.0.0.0/8.0',
  ])('%j is none', (entry) => {
    expect(isAddressRange(entry)).toBe(false);
    expect(() => addressTest([entry])).toThrow('neither an IP address nor a CIDR range');
  });

  test.each([
    ['10.0.0.0/8', '10.255.0.1', true],
    ['10.0.0.0/8', '11.0.0.1', false],
    ['10.1.2.3/8', '10.9.9.9', true],
    ['10.0.0.0/8', '::ffff:10.0.0.1', true],
    ['10.0.0.0/8', '::ffff:a00:1', true],
    ['10.0.0.0/8', '::ffff:b00:1', false],
    ['::ffff:10.0.0.0/104', '10.1.2.3', true],
    ['::ffff:10.0.0.0/104', '::ffff:11.0.0.1', false],
    ['10.0.0.1', '10.0.0.1', true],
    ['10.0.0.1', '10.0.0.2', false],
    ['0.0.0.0/0', '203.0.113.9', true],
    ['0.0.0.0/0', '2001:db8::1', false],
    ['2001:db8::/32', '2001:db8:ffff::1', true],
    ['2001:db8::/32', '2001:db9::1', false],
    ['fe80::/10', 'fe80::1%eth0', true],
    ['::1', '0:0:0:0:0:0:0:1', true],
    ['10.0.0.0/8', '', false],
  ])('%s holds %s: %s', (range, address, held) => {
    expect(addressTest([range])(address)).toBe(held);
  });

  test('no entries hold every address', () => {
    expect(addressTest([])('203.0.113.9')).toBe(true);
  });

  test('one of several is enough', () => {
    const allows = addressTest(['10.0.0.0/8', '2001:db8::/32']);
    expect(allows('10.1.1.1') && allows('2001:db8::5')).toBe(true);
  });

  test('a range holds exactly the addresses that share its leading bits', () => {
    fc.assert(
      fc.property(fc.nat(0xffff_ffff), fc.nat(0xffff_ffff), fc.nat(32), (network, address, prefix) => {
        const text = (bits: number): string => [24, 16, 8, 0].map((shift) => (bits >>> shift) & 0xff).join('.');
        const lead = (bits: number): bigint => BigInt(bits) >> BigInt(32 - prefix);
        const expected = lead(network) === lead(address);
        const allows = addressTest([`${text(network)}/${prefix}`]);
        expect(allows(text(address))).toBe(expected);
        expect(allows(`::ffff:${text(address)}`)).toBe(expected);
      }),
    );
  });
});
