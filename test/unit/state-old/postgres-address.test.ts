import { describe, expect, it } from 'vitest';
import { type AddressExtras, postgresTarget } from '../../../src/state/postgres-address.ts';
import { passwordIn } from '../../../src/state/postgres-password.ts';

const target = (address: string, extras: Partial<AddressExtras> = {}) =>
  postgresTarget(address, { password: undefined, ca: undefined, ...extras });

describe('the URL of a database', () => {
  it('has the defaults of PostgreSQL, and a default table', () => {
    expect(target('postgres://ops@localhost/main')).toMatchObject({
      table: '"partnerctl_state"',
      connection: { host: 'localhost', port: 5432, database: 'main', user: 'ops', ssl: false },
    });
  });

  it('is encrypted and verified, unless it is on this machine', () => {
    expect(target('postgres://ops@db.example.com:6432/main').connection).toMatchObject({
      port: 6432,
      ssl: { rejectUnauthorized: true, servername: 'db.example.com' },
    });
    expect(target('postgres://ops@db.example.com/main?sslmode=require').connection.ssl).toMatchObject({
      rejectUnauthorized: false,
    });
    // A name, not an address of this machine.
    expect(target('postgres://ops@127.example.com/main').connection.ssl).toMatchObject({ rejectUnauthorized: true });
    expect(target('postgres://ops@[::1]/main').connection).toMatchObject({ host: '::1', ssl: false });
    expect(target('postgres://ops@localhost/main?host=%2Frun%2Fpg').connection).toMatchObject({
      host: '/run/pg',
      ssl: false,
    });
    expect(target('postgres://ops@10.0.0.1/main', { ca: 'PEM' }).connection.ssl).toEqual({
      rejectUnauthorized: true,
      ca: 'PEM',
    });
  });

  it('names the table, optionally in a schema', () => {
    expect(target('postgres://ops@localhost/main?table=team.jobs').table).toBe('"team"."jobs"');
  });

  it.each([
    ['postgres://localhost/main', 'no user'],
    ['postgres://ops@localhost', 'no database'],
    ['postgres://ops@localhost/main?tabel=x', 'unknown parameter "tabel"'],
    ['postgres://ops@localhost/main?table=a.b.c', 'not the name of a table'],
    ['postgres://ops@localhost/main?table=a%22b', 'not the name of a table'],
    ['postgres://ops@db.example.com/main?sslmode=disable', 'must be encrypted'],
    ['postgres://ops@db.example.com/main?sslmode=prefer', 'not supported'],
  ])('is rejected: %s (%s)', (address, message) => {
    expect(() => target(address)).toThrow(message);
  });
});

describe('a PGPASSFILE', () => {
  const { connection } = target('postgres://ops@db.example.com/main');

  it('yields the password in the first line that matches', () => {
    const lines = ['# comment', 'db.example.com:5432:other:ops:no', '*:*:main:ops:pa\\:ss\\\\', '*:*:*:*:later'];
    expect(passwordIn(lines.join('\n'), connection)).toBe('pa:ss\\');
  });

  it('may have none', () => {
    expect(passwordIn('db.example.com:5432:main\nother:*:*:*:x', connection)).toBeUndefined();
  });
});
