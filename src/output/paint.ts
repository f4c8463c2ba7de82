import type { Tone } from './command-result.ts';

type Style = Tone | 'heading';

/** Colours cleaned text; without colour the text as it is. */
export type Paint = (text: string, style: Style | undefined) => string;

/** A painter with the 16 colours that every colour terminal has, or one that paints nothing. Loads chalk when needed. */
export async function createPaint(color: boolean): Promise<Paint> {
  if (!color) return (text) => text;
  const { Chalk } = await import('chalk');
  const chalk = new Chalk({ level: 1 });
  const styles = { good: chalk.green, bad: chalk.red, warn: chalk.yellow, dim: chalk.dim, heading: chalk.bold };
  return (text, style) => (style === undefined || text === '' ? text : styles[style](text));
}
