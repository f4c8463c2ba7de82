import { execa } from 'execa';

/** Builds the program once for a whole test run. */
export default async function build(): Promise<void> {
  await execa('npm', ['run', '--silent', 'build'], { stdio: ['ignore', 'ignore', 'inherit'] });
}
