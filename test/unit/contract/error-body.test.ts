import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Contract } from '../../../src/contract/contract.ts';
import { readErrorBody } from '../../../src/contract/error-body.ts';
import { cpuMsOf } from '../../support/cpu.ts';
import { anyCharacter } from '../../support/properties.ts';

const json = (body: unknown) => readErrorBody(JSON.stringify(body), 'application/json');

describe('the body of an error', () => {
  it.each([
    ['code and message', { code: 'c', message: 'm' }, { code: 'c', message: 'm', fields: [] }],
    ['error.code, error.message', { error: { code: 'c', message: 'm' } }, { code: 'c', message: 'm', fields: [] }],
    ['detail', { detail: 'm' }, { message: 'm', fields: [] }],
    ['error as text', { error: 'm' }, { message: 'm', fields: [] }],
    ['a numeric code', { code: 17, message: 'm' }, { code: '17', message: 'm', fields: [] }],
    ['error_description', { error_description: 'm' }, { message: 'm', fields: [] }],
    [
      'errors[] of objects',
      { errors: [{ field: 'name', message: 'is empty' }] },
      { message: 'is empty', fields: [{ path: 'name', message: 'is empty' }] },
    ],
    [
      'errors[] of texts',
      { message: 'm', errors: ['one', 'two'] },
      {
        message: 'm',
        fields: [
          { path: '', message: 'one' },
          { path: '', message: 'two' },
        ],
      },
    ],
    ['lists by field', { name: ['is empty'] }, { fields: [{ path: 'name', message: 'is empty' }] }],
    [
      'lists by field below errors',
      { message: 'm', errors: { name: ['is empty', 'is short'] } },
      { message: 'm', fields: [{ path: 'name', message: 'is empty is short' }] },
    ],
    [
      'a list of places under detail',
      { detail: [{ loc: ['body', 'agents', 0, 'name'], msg: 'missing' }] },
      { fields: [{ path: 'body.agents[0].name', message: 'missing' }] },
    ],
    [
      'problem+json',
      { type: '/problems/quota', title: 'Bad', status: 400, detail: 'm' },
      { code: '/problems/quota', message: 'm', fields: [] },
    ],
    [
      'problem+json with only a title',
      { title: 'Bad', status: 400, 'invalid-params': [{ name: 'x', reason: 'y' }] },
      { message: 'Bad', fields: [{ path: 'x', message: 'y' }] },
    ],
    [
      'JSON:API',
      { errors: [{ code: 'c', detail: 'm', source: { pointer: '/data/name' } }] },
      { code: 'c', message: 'm', fields: [{ path: '/data/name', message: 'm' }] },
    ],
    ['a JSON text', 'm', { message: 'm', fields: [] }],
    ['null', null, { fields: [] }],
    ['a bare array', [{ message: 'm' }], { fields: [{ path: '', message: 'm' }] }],
  ])('is parsed: %s', (_, body, expected) => {
    expect(json(body)).toMatchObject(expected);
  });

  it('has no code if problem+json says that it has none', () => {
    const body = { type: 'about:blank', title: 'Bad', status: 400, detail: 'm' };
    expect(json(body)).toEqual({ message: 'm', fields: [] });
  });

  it.each<[string, unknown, { code?: string; message: string }]>([
    ['OAuth', { error: 'invalid_token', error_description: 'The token expired.' }, { message: 'The token expired.' }],
    ['Pascal case', { Code: 'c', Message: 'No such thing.' }, { code: 'c', message: 'No such thing.' }],
    ['camel case', { errorCode: 'c', errorMessage: 'No such thing.' }, { code: 'c', message: 'No such thing.' }],
    [
      'a fault',
      { fault: { faultstring: 'Quota is used up.', detail: { errorcode: 'q' } } },
      { message: 'Quota is used up.' },
    ],
    ['faults in a list', { faults: [{ faultCode: 'c', message: 'No such thing.' }] }, { message: 'No such thing.' }],
    [
      'Google',
      { error: { code: 404, status: 'NOT_FOUND', message: 'No such thing.' } },
      { code: '404', message: 'No such thing.' },
    ],
    [
      'errors in an error',
      { error: { errors: [{ reason: 'x', message: 'No such thing.' }] } },
      { message: 'No such thing.' },
    ],
    ['a list of messages', { messages: ['No such thing.', 'Try again.'] }, { message: 'No such thing. Try again.' }],
    ['messages in a list', { message: ['No such thing.', 'Try again.'] }, { message: 'No such thing. Try again.' }],
    ['a reason', { reason: 'No such thing.' }, { message: 'No such thing.' }],
    [
      'GraphQL',
      { errors: [{ message: 'No such thing.', extensions: { code: 'NOT_FOUND' } }] },
      { code: 'NOT_FOUND', message: 'No such thing.' },
    ],
    ['AWS', { __type: 'x#NoSuchThing', message: 'No such thing.' }, { message: 'No such thing.' }],
  ])("keeps the service's own message: %s", (_, body, { code, message }) => {
    const said = json(body);
    const all = [said.message, ...said.fields.map((field) => field.message)].join('\n');
    expect(all).toContain(message);
    if (code !== undefined) expect(said.code).toBe(code);
  });

  it('has the code and the message from the fields in the contract', () => {
    const contract = new Contract({ override: { 'error.code': 'fault.number', 'error.message': 'fault.texts' } });
    const body = { message: 'See the fault.', code: 1, fault: { number: 'E17', texts: ['Too short.', 'Too plain.'] } };
    const read = readErrorBody(JSON.stringify(body), 'application/json', contract);
    expect(read).toMatchObject({ code: 'E17', message: 'Too short. Too plain.' });
    expect(readErrorBody('{"message":"Other."}', undefined, contract).message).toBe('Other.');
  });

  it('is empty for an empty response', () => {
    expect(readErrorBody('', undefined)).toEqual({ fields: [] });
    expect(readErrorBody(' \n', 'application/json')).toEqual({ fields: [] });
  });

  it('shows plain text, truncated if it is long', () => {
    expect(readErrorBody('upstream is down\n', 'text/plain').message).toBe('upstream is down');
    expect(readErrorBody('x'.repeat(100_000), 'text/plain').message?.length).toBeLessThan(600);
  });

  it('summarizes HTML', () => {
    const page = '<!DOCTYPE html><html><head><title>502 Bad\n Gateway</title></head><body><h1>no</h1></body></html>';
    expect(readErrorBody(page, undefined).message).toBe('an HTML page: 502 Bad Gateway');
    expect(readErrorBody(page, 'text/html').message).toBe('an HTML page: 502 Bad Gateway');
    expect(readErrorBody('<html>', 'text/plain').message).toBe('an HTML page');
  });

  it('finds the title of any page in linear time', async () => {
    const page = '<title'.repeat(200_000);
    const read = () => expect(readErrorBody(page, 'text/html').message).toBe('an HTML page');
    expect(await cpuMsOf(read)).toBeLessThan(1000);
  });

  it('limits the number of field errors', () => {
    const said = json({ errors: Array.from({ length: 20_000 }, (_, n) => ({ field: `f${n}`, message: 'bad' })) });
    expect(said.fields.length).toBeGreaterThan(5);
    expect(said.fields.length).toBeLessThanOrEqual(100);
  });

  it('ignores paths that are not text', () => {
    const body = '{"errors":[{"loc":[{"toString":1},null,["x"]],"msg":"m"}]}';
    expect(readErrorBody(body, 'application/json').fields[0]?.message).toBe('m');
  });

  it('property: never throws, whatever the body and its type', () => {
    const type = fc.oneof(fc.constantFrom(undefined, 'text/html', 'application/json', 'text/plain'), fc.string());
    fc.assert(fc.property(fc.string({ unit: anyCharacter }), type, (body, kind) => void readErrorBody(body, kind)));
  });

  it('property: never throws and only returns text for any JSON', () => {
    const names = [
      'code',
      'message',
      'detail',
      'error',
      'errors',
      'fields',
      'loc',
      'path',
      'msg',
      'toString',
      '__proto__',
    ];
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof(
        { depthSize: 'medium' },
        fc.jsonValue({ maxDepth: 0 }),
        fc.array(tie('tree'), { maxLength: 3 }),
        fc.dictionary(fc.constantFrom(...names), tie('tree'), { maxKeys: 4 }),
      ),
    }));
    fc.assert(
      fc.property(tree, (body) => {
        const said = json(body);
        for (const value of [said.code, said.message]) expect(['string', 'undefined']).toContain(typeof value);
        for (const { path, message } of said.fields)
          expect([typeof path, typeof message]).toEqual(['string', 'string']);
      }),
    );
  });
});
