import { createHmac } from 'node:crypto';
import { isServiceWord } from './vocabulary.ts';

/** Matches runs of letters and digits: the parts of a text that can identify somebody. */
export const RUNS = /[\p{L}\p{M}\p{N}]+/gu;

/** How many pseudonyms of its own length to try for a run before they become longer. */
const MAX_TRIES = 64;

const UPPER = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ';
const LOWER = 'abcdefghijklmnopqrstuvwxyz';
const HEX = 'abcdef';
const DIGITS = '0123456789';

/** The characters that may replace one: of the same kind, so that lengths, cases, and formats stay. */
function alphabetOf(character: string, isHex: boolean): string | undefined {
  if (/[0-9]/.test(character)) return DIGITS;
  if (/[a-z]/.test(character)) return isHex ? HEX : LOWER;
  if (/[A-Z]/.test(character)) return isHex ? HEX.toUpperCase() : UPPER;
  if (/\p{M}/u.test(character)) return undefined;
  if (/[\u00c0-\u024f]/.test(character)) return /\p{Lu}/u.test(character) ? 'ÄÉÍÓÜ' : 'äéíóü';
  return /\p{N}/u.test(character) ? '①②③④⑤' : /\p{Lu}|\p{Ll}/u.test(character) ? 'αβγδε' : '字文語名人';
}

/**
 * Replaces runs of letters and digits: the same run always with the same pseudonym, different runs with different ones. The
 * pseudonyms depend on a key that is not kept, so that nobody can confirm a guess.
 */
export class Pseudonyms {
  private readonly key: Uint8Array;
  private readonly known = new Map<string, string>();
  private readonly taken = new Set<string>();

  /** @param key random bytes */
  constructor(key: Uint8Array) {
    this.key = key;
  }

  /** Returns the pseudonym of a run. */
  of(run: string): string {
    const known = this.known.get(run);
    if (known !== undefined) return known;
    for (let attempt = 0; ; attempt += 1) {
      const length = Math.max(0, attempt - MAX_TRIES);
      const candidate = this.disguise(run + run.slice(-1).repeat(length), attempt);
      if (candidate === run || this.taken.has(candidate) || isServiceWord(candidate)) continue;
      this.known.set(run, candidate);
      this.taken.add(candidate);
      return candidate;
    }
  }

  /** Replaces each run of a text. */
  replace(text: string): string {
    return text.replace(RUNS, (run) => this.of(run));
  }

  /** Replaces only the runs that already have a pseudonym, except for service words, short words, and short numbers. */
  replaceKnown(text: string): string {
    const isTelling = (run: string) => run.length >= 3 && !/^\d{1,3}$/.test(run) && !isServiceWord(run);
    return text.replace(RUNS, (run) => (isTelling(run) ? (this.known.get(run) ?? run) : run));
  }

  /** Replaces each character. Keeps the first digit of a number below 9, so that a safe integer stays safe. */
  private disguise(run: string, attempt: number): string {
    const isHex = run.length >= 4 && /^[0-9a-f]+$/i.test(run) && /\d/.test(run);
    const isNumber = /^\d+$/.test(run);
    const bytes = this.bytes(`${attempt}:${run}`, run.length);
    let result = '';
    for (const [index, character] of Array.from(run).entries()) {
      const alphabet = isNumber && index === 0 && run.length > 1 ? '12345678' : alphabetOf(character, isHex);
      const letters = Array.from(alphabet ?? character);
      result += letters[(bytes[index] ?? 0) % letters.length] ?? character;
    }
    return result;
  }

  private bytes(text: string, length: number): Uint8Array {
    const blocks: Buffer[] = [];
    for (let at = 0; at < length; at += 32) {
      blocks.push(createHmac('sha256', this.key).update(`${at}:${text}`).digest());
    }
    return Buffer.concat(blocks);
  }
}
