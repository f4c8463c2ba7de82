import type { Environment, Sink } from '../platform/io.ts';
import type { Style } from './command-result.ts';

/**
 * Whether to use color: --color decides, then NO_COLOR, then FORCE_COLOR, then whether the sink is a color terminal.
 */
export function shouldUseColor(choice: string, env: Environment, sink: Sink): boolean {
  if (choice !== 'auto') return choice === 'always';
  if (env.NO_COLOR) return false;
  if (env.FORCE_COLOR) return env.FORCE_COLOR !== '0' && env.FORCE_COLOR !== 'false';
  return sink.isTTY && env.TERM !== 'dumb';
}

/** Styles sanitized text; returns it unchanged without color. */
export type Paint = (text: string, style: Style | undefined) => string;

/** Creates a painter that uses the 16 basic colors. Without color, it leaves text unchanged and does not load chalk. */
export async function createPaint(color: boolean): Promise<Paint> {
  if (!color) return (text) => text;
  const { Chalk } = await import('chalk');
  const chalk = new Chalk({ level: 1 });
  const styles = {
    plain: (text: string) => text,
    good: chalk.green,
    bad: chalk.red,
    warn: chalk.yellow,
    dim: chalk.dim,
    heading: chalk.bold,
    series1: chalk.cyan,
    series2: chalk.magenta,
    series3: chalk.blue,
    series4: chalk.cyanBright,
    series5: chalk.magentaBright,
  };
  return (text, style) => (style === undefined || text === '' ? text : styles[style](text));
}
