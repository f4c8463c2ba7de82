import { Transform, type TransformCallback } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';

/** Stands for a line break while a message of several lines is typed in one: a sign that nobody types. */
export const LINE_BREAK = '\u2b92';

const PASTE_START = '\x1b[200~';
const PASTE_END = '\x1b[201~';
const ALT_ENTER = /\x1b[\r\n]/g;

/** How much of the end of a text may be the beginning of a mark whose rest has not come yet. */
function unfinished(text: string, mark: string): number {
  for (let length = Math.min(mark.length - 1, text.length); length > 0; length -= 1) {
    if (mark.startsWith(text.slice(-length))) return length;
  }
  return 0;
}

/**
 * What a terminal sends, with the line breaks that must not send a message made visible: those that are pasted (the
 * terminal marks what is, once it is asked to) and Alt+Enter.
 */
export class MultilineInput extends Transform {
  private pasting = false;
  private held = '';
  /** A read may end in the middle of a character. */
  private readonly decoder = new StringDecoder('utf8');

  override _transform(chunk: Buffer | string, _encoding: BufferEncoding, done: TransformCallback): void {
    let text = this.held + (typeof chunk === 'string' ? chunk : this.decoder.write(chunk));
    let out = '';
    for (;;) {
      const mark = this.pasting ? PASTE_END : PASTE_START;
      const at = text.indexOf(mark);
      if (at === -1) break;
      out += this.shown(text.slice(0, at));
      text = text.slice(at + mark.length);
      this.pasting = !this.pasting;
    }
    this.held = this.unsettled(text);
    out += this.shown(text.slice(0, text.length - this.held.length));
    done(null, out);
  }

  /** The end of a text whose meaning the next piece decides. */
  private unsettled(text: string): string {
    // The line feed of a line break may be still to come.
    if (this.pasting && text.endsWith('\r')) return '\r';
    const open = unfinished(text, this.pasting ? PASTE_END : PASTE_START);
    // A lone Escape is a key of its own: a terminal sends a sequence in one piece, and a person waits for the key.
    return open > 1 ? text.slice(-open) : '';
  }

  private shown(text: string): string {
    return this.pasting ? text.replace(/\r\n|\r|\n/g, LINE_BREAK) : text.replace(ALT_ENTER, LINE_BREAK);
  }
}
