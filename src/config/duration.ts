import ms, { type StringValue } from 'ms';

/**
 * A duration as people type it: `500ms`, `30s`, `2m`, `1h`; fractions are allowed.
 * @returns milliseconds, or undefined for anything else
 */
export function parseDuration(text: string): number | undefined {
  return isDuration(text) ? ms(text) : undefined;
}

function isDuration(text: string): text is StringValue {
  return /^\d+(\.\d+)?(ms|s|m|h)$/.test(text);
}
