import { toSentenceCase } from '../platform/text.ts';

/**
 * Joins the lines of a text into one: a line that begins in upper case begins a sentence, any other continues the one
 * before it after a semicolon.
 */
function joinSentences(text: string): string {
  return text.split(/\s*\n\s*/).reduce((joined, line) => {
    if (/[:!?…]$/.test(joined)) return `${joined} ${line}`;
    const start = joined.replace(/\.$/, '');
    return /^\p{Lu}/u.test(line) ? `${start}. ${line}` : `${start}; ${line}`;
  });
}

/** Appends a reason, which may have several lines, to a message as a new sentence. */
export function withReason(message: string, reason: string | undefined): string {
  if (!reason) return message;
  // A field name at the start (`agents[0].name: …`) keeps the service's spelling.
  const sentence = joinSentences(reason).replace(/^[a-z]+(?= )/, toSentenceCase);
  return `${message}${/[.:!?…]$/.test(message) ? '' : '.'} ${sentence}`;
}
