import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LINE_BREAK, MultilineInput } from '../../../src/output/multiline-input.ts';

/** What comes out for what a terminal sends, read in the given pieces. */
function typed(...pieces: readonly string[]): string {
  const input = new MultilineInput();
  let out = '';
  input.on('data', (chunk: unknown) => {
    out += String(chunk);
  });
  for (const piece of pieces) input.write(piece);
  input.end();
  return out;
}

describe('what a terminal sends', () => {
  it('ends a line with Enter, and begins a new one within it with Alt+Enter', () => {
    expect(typed('one\r')).toBe('one\r');
    expect(typed('one', '\x1b\r', 'two\r')).toBe(`one${LINE_BREAK}two\r`);
  });

  it('does not end a line with what is pasted', () => {
    expect(typed('\x1b[200~one\r\ntwo\rthree\n\x1b[201~\r')).toBe(
      `one${LINE_BREAK}two${LINE_BREAK}three${LINE_BREAK}\r`,
    );
  });

  it('does not break a character that is read in two pieces', () => {
    const bytes = Buffer.from('\x1b[200~é😀\x1b[201~');
    for (let at = 1; at < bytes.length; at += 1) {
      const input = new MultilineInput();
      let out = '';
      input.on('data', (chunk: unknown) => {
        out += String(chunk);
      });
      input.write(bytes.subarray(0, at));
      input.write(bytes.subarray(at));
      // An Escape at the end of a piece is the key.
      if (bytes[at - 1] !== 0x1b) expect(out).toBe('é😀');
    }
  });

  it('passes Escape and other keys on at once', () => {
    expect(typed('\x1b')).toBe('\x1b');
    expect(typed('\x1b[A', '\x1b[D')).toBe('\x1b[A\x1b[D');
  });

  it('property: a paste is the same however it is cut into pieces', () => {
    const pasted = fc.string({ unit: fc.constantFrom('a', 'b', '\r', '\n', ' ', 'ü') });
    fc.assert(
      fc.property(pasted, fc.array(fc.nat(40)), (text, cuts) => {
        const sent = `x\x1b[200~${text}\x1b[201~y`;
        const places = [0, ...cuts.filter((cut) => cut < sent.length), sent.length].toSorted((a, b) => a - b);
        // An Escape alone at the end of a piece is the key; terminals send their marks in one piece from there on.
        fc.pre(places.every((place) => sent[place - 1] !== '\x1b'));
        const pieces = places.slice(1).map((to, index) => sent.slice(places[index], to));
        expect(typed(...pieces)).toBe(`x${text.replace(/\r\n|\r|\n/g, LINE_BREAK)}y`);
      }),
    );
  });
});
