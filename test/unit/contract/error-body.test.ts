import { describe, expect, it } from 'vitest';
import { readErrorBody } from '../../../src/contract/error-body.ts';

const read = (body: unknown) => readErrorBody(JSON.stringify(body), 'application/json');

describe('the body of an error', () => {
  it.each([
    [
      { Code: 'c', Message: 'm' },
      { code: 'c', message: 'm' },
    ],
    [
      { type: '/problems/quota', title: 'Bad', status: 400, detail: 'm' },
      { code: '/problems/quota', message: 'm' },
    ],
  ])('has a code and a message: %j', (body, { code, message }: { code?: string | undefined; message: string }) => {
    expect([read(body).code, read(body).message]).toEqual([code, message]);
  });

  it.each([
    [{ name: ['is empty', 'is short'] }, 'name', 'is empty is short'],
    [{ detail: [{ loc: ['body', 'agents', 0, 'name'], msg: 'missing' }] }, 'body.agents[0].name', 'missing'],
    [{ errors: [{ detail: 'm', source: { pointer: '/data/name' } }] }, '/data/name', 'm'],
  ])('names fields: %j', (body, path, message) => {
    expect(read(body).fields).toEqual([{ path, message }]);
  });

  it('may be empty, plain text, or a page of a gateway, of which the title is shown', () => {
    expect(readErrorBody(' \n', 'application/json')).toEqual({ fields: [] });
    expect(readErrorBody('upstream is down\n', 'text/plain').message).toBe('upstream is down');
    const page = '<!DOCTYPE html><html><head><title>502 Bad\n Gateway</title></head><body><h1>no</h1></body></html>';
    expect(readErrorBody(page, undefined)).toMatchObject({
      message: 'an HTML page: 502 Bad Gateway',
      fromGateway: true,
    });
  });
});
