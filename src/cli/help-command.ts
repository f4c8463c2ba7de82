import { objectResult } from '../output/command-result.ts';
import { command } from './command.ts';

/** `help -o json`: what programs read. Help for people is text that commander and the topics give. */
export default command<{ readonly words: readonly string[] }>({
  description: 'Describes the commands, or one of them, a group, or a topic, as JSON or YAML.',
  args: [{ usage: '[command...]', description: 'a command, a group, or a topic; all commands without one' }],
  output: async () => ({ json: (await import('../output/output-schema.ts')).openObject({}) }),
  exits: [],
  examples: [
    { line: 'partnerctl help -o json', does: 'all commands with their arguments, flags, output schemas, and examples' },
    { line: "partnerctl help cron create -o json --query 'flags[].flag'", does: 'the flags of one command' },
  ],
  parse: ({ positionals }) => ({ words: positionals }),
  async run(_context, { words }) {
    const { describeProgram } = await import('./help-json.ts');
    return objectResult(await describeProgram(words), []);
  },
});
