import fc from 'fast-check';
import { expect, it } from 'vitest';
import { withoutContinue } from '../../../src/api/undici.ts';

/** What comes through of these chunks; a request is written before each of the lists. */
function through(...answers: readonly (readonly string[])[]): string {
  const left: Buffer[] = [];
  const { read, onWrite } = withoutContinue(() => left.shift() ?? null);
  const came: string[] = [];
  for (const chunks of answers) {
    onWrite('POST /v1/x HTTP/1.1\r\nhost: x\r\n\r\n');
    left.push(...chunks.map((chunk) => Buffer.from(chunk)));
    while (left.length > 0) {
      came.push(String(read() ?? ''));
      onWrite(Buffer.from('GET / HTTP/1.1\r\n\r\n'));
    }
  }
  return came.join('');
}

const ANSWER = 'HTTP/1.1 201 Created\r\ncontent-length: 2\r\n\r\n{}';
const CONTINUES = [
  'HTTP/1.1 100 Continue\r\n\r\n',
  'HTTP/1.1 100\r\n\r\n',
  'HTTP/1.1 100 Continue\n\n',
  'HTTP/1.1 100 Go on\r\ndate: now\r\nvia: x\r\n\r\n',
];

it('leaves out 100 Continue before an answer, wherever the chunks of it are cut', () => {
  const cuts = fc.array(fc.nat(200), { maxLength: 6 });
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...CONTINUES), { maxLength: 3 }), cuts, (interims, at) => {
      const all = interims.join('') + ANSWER;
      const places = [0, ...at.filter((place) => place < all.length).toSorted((a, b) => a - b), all.length];
      const chunks = places.slice(1).map((end, index) => all.slice(places[index], end));
      const whole = chunks.filter((chunk) => chunk !== '');
      expect(through(whole, whole)).toBe(ANSWER + ANSWER);
    }),
  );
});

it.each([
  ['another interim answer', `HTTP/1.1 103 Early Hints\r\n\r\n${ANSWER}`],
  ['a body that speaks of it', `${ANSWER}HTTP/1.1 100 Continue\r\n\r\n`],
  ['one without an end', `HTTP/1.1 100 Continue\r\n${'x-long: y\r\n'.repeat(2_000)}`],
  ['no HTTP', 'SSH-2.0-OpenSSH\r\n'],
])('leaves everything else as it is: %s', (_, text) => {
  expect(through([text])).toBe(text);
});

it('leaves the rest of an answer as it is, wherever it is cut', () => {
  const body = ['HTTP/1.1 100 Continue\r\n\r\n', 'H', 'HTTP/1.1 100 Continue\n"}'];
  expect(through([ANSWER, ...body])).toBe(ANSWER + body.join(''));
});
