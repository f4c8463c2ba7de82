import { command, SERVICE_EXITS } from '../cli/command.ts';
import { refuseTokenOnStdin } from '../cli/input.ts';
import { SCOPE } from '../contract/scopes.ts';
import {
  EXIT_CODE_FLAG,
  MANIFEST_FLAGS,
  MANIFEST_INPUT,
  type ManifestArgs,
  parseManifestArgs,
} from './provisioning/args.ts';

interface Input extends ManifestArgs {
  readonly hasDetailedExitCode: boolean;
}

export default command<Input>({
  description:
    'Shows what provision would do, and why: for each space, in input order, what it would create (+), and to which spaces it would add something (~), what is unchanged (=), what differs and no call can change (!), what is not in the manifest (?), and what is blocked until somebody decides (x): then it exits as provision would. Sends only reads, and writes nothing. The same as provision --dry-run.',
  args: [{ usage: '<file...>', description: 'YAML files, directories of them, or - for standard input' }],
  flags: [...MANIFEST_FLAGS, EXIT_CODE_FLAG],
  inputs: [MANIFEST_INPUT],
  scopes: [SCOPE.readSpaces, SCOPE.readAgents, SCOPE.listJobs],
  exits: [...SERVICE_EXITS, 'duplicate', 'unknown', 'partial', 'changesPending', 'differences'],
  examples: [
    { line: 'partnerctl plan acme.yaml', does: 'one file' },
    {
      line: 'partnerctl plan customers/ --detailed-exitcode',
      does: 'in CI: exit with 12 if provision has something to do',
    },
    {
      line: "partnerctl plan customers/ -o json --query 'spaces[?differences].differences[]'",
      does: 'every difference that no call can change',
    },
    { line: 'partnerctl plan customers/ -o tsv | grep create_job', does: 'the jobs that would be created' },
  ],
  parse(args) {
    return { ...parseManifestArgs(args), hasDetailedExitCode: args.isSet('detailed-exitcode') };
  },
  async run(context, input) {
    if (input.files.includes('-')) refuseTokenOnStdin(context.flags, 'manifest');
    const { readManifests } = await import('./provisioning/open.ts');
    const { planDocuments } = await import('./provisioning/run.ts');
    return planDocuments(context, await readManifests(context, input), input);
  },
});
