import { deferred, defineCommand, programOf } from '../cli/command.ts';
import { FORMATS, objectResult } from '../output/command-result.ts';

export const help = () =>
  defineCommand('help', 'Show the help of a command, or a help topic', {
    examples: [
      'partnerctl help cron create  # the help of one command',
      'partnerctl help cron create -o json  # its arguments, options, exit codes, and examples, for a program',
      'partnerctl help skill --file > SKILL.md  # the topic for coding agents, as a skill file',
      'partnerctl help -o json  # the index of all commands',
    ],
  })
    .argument('[word...]', 'a command, a group, or a topic; all commands without one')
    .option('--file', 'with the topic skill: print it as a SKILL.md')
    .action(
      deferred(async (context, words, { file }, command) => {
        const { flags } = context;
        const program = programOf(command);
        const { describeProgram, formatHelp, formatSkill } = await import('../cli/help-pages.ts');
        if (file) return { kind: 'text', text: formatSkill(words, program) };
        const isData = flags.output !== undefined && !FORMATS[flags.output].isForPeople;
        if (flags.query !== undefined || isData) {
          return objectResult(describeProgram(words, program), []);
        }
        return { kind: 'text', text: await formatHelp(words, program, context) };
      }),
    );
